"""How a program ends: every failure told, and the exit code that the contract gives the outcome."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn, TextIO

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
        status = READER_GONE
        _discard(sys.stdout)
    except OSError as error:
        status = _tell_unwritable(error, arguments)
    sys.exit(status)


def _discard(stream: TextIO) -> None:
    """The interpreter would flush once more at its end, and complain where nobody reads."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


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
    except OSError as error:
        if not _is_about_output(error):
            return _tell_defect(error, arguments)
        return _tell_unwritable(error, arguments)
    except Exception as error:
        return _tell_defect(error, arguments)
    # A verb returns its exit code, or nothing; `--help` makes click return 0.
    return outcome if isinstance(outcome, int) else 0


def _is_about_output(error: OSError) -> bool:
    """Whether what failed is telling something: all that is told goes through click's one function."""
    frames = (frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(code is click.echo.__code__ for code in frames)


def _tell_unwritable(error: OSError, arguments: Sequence[str]) -> int:
    """The work may be done; whoever asked for its outcome has not got it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _discard(stream)
    failure = FlexError(
        f"the output cannot be written: {error.strerror or error}",
        code="output/unwritable",
        hint="free some space where it goes, or send it elsewhere, and run the same command again",
    )
    render_error(failure, json=False)
    return exit_code(failure)


def _tell_defect(error: Exception, arguments: Sequence[str]) -> int:
    """What should not have happened: in words that can be reported, not as a page of Python."""
    from flexnode.cli.defect import describe_defect, render_traceback, wants_debug

    if wants_debug(arguments):
        click.echo(render_traceback(error), err=True)
    defect = describe_defect(error)
    render_error(defect, json=wants_json(arguments))
    return exit_code(defect)
