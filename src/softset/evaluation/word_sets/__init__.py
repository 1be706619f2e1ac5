"""Text concept set retrieval: five words of a set are shown, and the others have to be found."""
