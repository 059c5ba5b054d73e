"""`python -m esagent`: the same as the installed command."""

from esagent.cli.main import main

main()
