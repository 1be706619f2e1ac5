"""Collections of the user's own items, stored in a folder."""
