"""Set queries over texts: QUEST evidence, ComLQ, Reuters and LIMIT."""
