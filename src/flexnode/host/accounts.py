"""Users and groups of a machine, by its own files and the programs that change them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flexnode.errors import CommandError
from flexnode.host.command import Command, Completed, run
from flexnode.host.door import Account, Files
from flexnode.host.failures import Code, failure

_GONE = 6
_IN_USE = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class FileAccounts:
    """`root`: the machine's root directory, if it is not `/`; nothing of it is run."""

    files: Files
    run: Callable[[Command], Completed] = run
    root: Path | None = None

    def has_user(self, name: str) -> bool:
        return name in self._names("/etc/passwd")

    def has_group(self, name: str) -> bool:
        return name in self._names("/etc/group")

    def add_user(self, account: Account) -> None:
        if self.has_user(account.name):
            return
        group = ("--gid", account.name) if self.has_group(account.name) else ("--user-group",)
        home = ("--home-dir", account.home, "--no-create-home")
        self._change("useradd", "--system", *group, *home, "--shell", account.shell, account.name)

    def add_group(self, name: str) -> None:
        if not self.has_group(name):
            self._change("groupadd", "--system", name)

    def remove_user(self, name: str) -> None:
        if self.has_user(name):
            self._change("userdel", name)
        self.remove_group(name)

    def remove_group(self, name: str) -> None:
        if self.has_group(name):
            self._change("groupdel", name)

    def _names(self, path: str) -> frozenset[str]:
        if self.files.find(path) is None:
            return frozenset()
        lines = self.files.read(path).decode(errors="replace").splitlines()
        return frozenset(line.partition(":")[0] for line in lines)

    def _change(self, program: str, *argv: str) -> None:
        elsewhere = () if self.root is None else ("--prefix", str(self.root))
        expect = (0, _GONE, _IN_USE) if program in ("userdel", "groupdel") else (0,)
        command = Command(argv=(program, *elsewhere, *argv), expect=expect)
        try:
            done = self.run(command)
        except CommandError as error:
            if "unable to lock" in error.message or "cannot lock" in error.message:
                message = f"{program} {argv[-1]} failed: another program is changing the accounts"
                raise failure(Code.BUSY, message) from error
            raise
        if done.returncode == _IN_USE:
            words = done.stderr.decode(errors="replace").strip()
            raise failure(Code.BUSY, f"cannot remove {argv[-1]}: {words}", hint=f"pgrep -u {argv[-1]} -l")
