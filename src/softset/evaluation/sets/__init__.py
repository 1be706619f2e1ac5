"""Text concept set retrieval: a set is known by five of its words, and the others have to be found."""
