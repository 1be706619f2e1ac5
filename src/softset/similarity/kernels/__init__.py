"""The arithmetic of the metrics: arrays in, arrays out, of NumPy or torch. What is measured is decided elsewhere."""
