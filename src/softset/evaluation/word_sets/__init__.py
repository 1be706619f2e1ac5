"""Text concept set retrieval: five words of a set are given, and the others have to be found."""
