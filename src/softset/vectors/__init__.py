"""Word vectors: file formats, vocabulary, preprocessing."""
