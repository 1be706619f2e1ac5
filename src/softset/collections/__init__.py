"""Collections of a user's own items, kept in a folder."""
