"""`python -m jobspec`."""

from jobspec.cli import program

program()
