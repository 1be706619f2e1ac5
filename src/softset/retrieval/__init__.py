"""Which items belong: the query language, its evaluation, and search."""
