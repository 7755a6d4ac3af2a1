"""The command line: parse, call a flow, render what came of it. Only here anything is printed."""

from flexnode.cli.root import main

__all__ = ["main"]
