"""Programs that answer by a script, for doors that talk to programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from flexnode.errors import CommandError
from flexnode.host import Command, Completed
from flexnode.host.files import TreeFiles
from flexnode.host.owners import this_process


def missing(program: str) -> CommandError:
    """As `run` says it of a program that is not installed."""
    return CommandError(f"{program} was not found", code="host/command-missing")


def fails(words: str, returncode: int = 1) -> Callable[[Command], Completed]:
    """As `run` says it of a program that ended badly."""

    def answer(command: Command) -> Completed:
        if returncode in command.expect:
            return Completed(returncode=returncode, stdout=b"", stderr=words.encode())
        raise CommandError(f"{command} exited with {returncode}: {words}", code="host/command-failed")

    return answer


def says(text: str) -> Callable[[Command], Completed]:
    return lambda _command: Completed(returncode=0, stdout=text.encode(), stderr=b"")


@dataclass
class Programs:
    """`answers`: by words of a command line; of several each is given once, but the last for ever."""

    answers: dict[str, list[Callable[[Command], Completed]]] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()
    commands: list[Command] = field(default_factory=list)

    def run(self, command: Command) -> Completed:
        self.commands.append(command)
        if command.argv[0] in self.absent:
            raise missing(command.argv[0])
        for words, answers in self.answers.items():
            if set(words.split()) <= set(command.argv):
                return (answers.pop(0) if len(answers) > 1 else answers[0])(command)
        return Completed(returncode=0, stdout=b"", stderr=b"")

    @property
    def lines(self) -> list[str]:
        return [str(command) for command in self.commands]


def make_files(root: Path, **texts: str) -> TreeFiles:
    """A machine's files below `root`; in names `__` stands for a slash."""
    for name, text in texts.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return TreeFiles(root=root, owners=this_process(), mounts=lambda: ())
