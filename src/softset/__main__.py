"""`python -m softset` is `softset`."""

from softset.cli import main

main()
