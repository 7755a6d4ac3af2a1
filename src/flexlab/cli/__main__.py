"""`python -m flexlab.cli`: the same as `flexlab`."""

from flexlab.cli import main

main()
