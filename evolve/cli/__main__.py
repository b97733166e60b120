"""`python -m evolve.cli` is `evolve`."""

from evolve.cli.main import main

main()
