"""How good scores are: significance tests, and the tasks that metrics and sets are measured on."""
