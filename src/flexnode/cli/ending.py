"""How a program ends: every failure told, and the exit code that the contract gives the outcome."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from flexnode.cli.output import render_click_error, render_error, wants_json
from flexnode.errors import FlexError, exit_code

INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C ended
READER_GONE = 141  # and for one whose reader closed the pipe


def end_with(group: click.Group, program: str, argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_closed_streams()
    try:
        status = run(group, program, arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter would flush once more at its end, and complain where nobody reads.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = READER_GONE
    sys.exit(status)


def _open_closed_streams() -> None:
    """A stream that the caller closed leads nowhere; its number must not go to the next file opened."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(handle, True)
    os.close(handle)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def run(group: click.Group, program: str, arguments: Sequence[str], *, given: object = None) -> int:
    """Run one verb and return its exit code; every failure has been told by then.

    `given`: what the verb works on in the place of its own choice, such as another machine than this one.
    """
    streams = sys.stdout, sys.stderr
    try:
        outcome = group.main(args=list(arguments), prog_name=program, standalone_mode=False, obj=given)
    except FlexError as error:
        render_error(error, json=wants_json(arguments))
        return exit_code(error)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else str(error), err=True)
        return 2
    except click.ClickException as error:
        render_click_error(error)
        return 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted; run the same command again to go on", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except SystemExit:
        if (sys.stdout, sys.stderr) == streams:
            raise
        # click wrapped them because the reader had gone, and would end as if the verb had failed.
        sys.stdout, sys.stderr = streams
        raise BrokenPipeError from None
    except Exception as error:
        return _tell_defect(error, arguments)
    # A verb returns its exit code, or nothing; `--help` makes click return 0.
    return outcome if isinstance(outcome, int) else 0


def _tell_defect(error: Exception, arguments: Sequence[str]) -> int:
    """What should not have happened: in words that can be reported, not as a page of Python."""
    from flexnode.cli.defect import describe_defect, render_traceback, wants_debug

    if wants_debug(arguments):
        click.echo(render_traceback(error), err=True)
    defect = describe_defect(error)
    render_error(defect, json=wants_json(arguments))
    return exit_code(defect)
