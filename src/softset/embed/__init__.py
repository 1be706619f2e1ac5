"""Where vectors come from: word vectors, token encoders, what is bundled."""
