"""`python -m toolmark` is the command."""

from toolmark.cli.app import main

main()
