"""The running kernel: its parameters, modules and swap."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flexnode.errors import CommandError, HostError
from flexnode.host.command import Command, Completed, run
from flexnode.host.failures import Code, failure, translate_os_error
from flexnode.host.mounts import unescape

_SWAP_PATIENCE = 900.0
"""Seconds: all that was swapped out is read back, from a disk that may be slow."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningKernel:
    """Asked through /proc, and told through /proc, modprobe, swapoff and swapon."""

    root: Path = Path("/")
    run: Callable[[Command], Completed] = run

    def find_sysctl(self, key: str) -> str | None:
        text = self._find_text(f"proc/sys/{sysctl_path(key)}")
        return None if text is None else " ".join(text.split())

    def set_sysctl(self, key: str, value: str) -> None:
        path = self.root / "proc/sys" / sysctl_path(key)
        try:
            path.write_bytes(f"{value}\n".encode())
        except FileNotFoundError as error:
            raise failure(
                Code.SYSCTL_MISSING,
                f"this kernel has no parameter {key}",
                hint="look whether the module that brings it is loaded",
            ) from error
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ERANGE):
                raise failure(Code.SYSCTL_REFUSED, f"the kernel does not take {key} = {value}") from error
            raise translate_os_error(error, f"set {key} to {value}") from error

    def has_module(self, name: str) -> bool | None:
        loaded = self._find_text("proc/modules")
        release = self._find_text("proc/sys/kernel/osrelease")
        if loaded is None and release is None:
            return None
        module = name.replace("-", "_")
        if any(line.split(" ", 1)[0] == module for line in (loaded or "").splitlines()):
            return True
        builtin = self._find_text(f"lib/modules/{(release or '').strip()}/modules.builtin") or ""
        if module in parse_builtin(builtin):
            return True
        # A kernel without loadable modules, as small virtual machines have them, lists none of its parts.
        return (self.root / "sys/module" / module).is_dir()

    def load_module(self, name: str) -> None:
        if self.has_module(name):
            return
        try:
            self.run(Command(argv=("modprobe", "--", name)))
        except CommandError as error:
            raise self._translate_module(error, f"cannot load the kernel module {name}") from error

    def unload_module(self, name: str) -> None:
        module = name.replace("-", "_")
        loaded = self._find_text("proc/modules") or ""
        if not any(line.split(" ", 1)[0] == module for line in loaded.splitlines()):
            return
        try:
            # -r: what was loaded only because this one needs it goes with it, if nothing else uses it.
            self.run(Command(argv=("modprobe", "-r", "--", name)))
        except CommandError as error:
            raise self._translate_module(error, f"cannot unload the kernel module {name}") from error

    def swaps(self) -> Sequence[str]:
        return parse_swaps(self._find_text("proc/swaps") or "")

    def swap_off(self, device: str) -> None:
        if device in self.swaps():
            self._swap("swapoff", device)

    def swap_on(self, device: str) -> None:
        if device not in self.swaps():
            self._swap("swapon", device)

    def _swap(self, program: str, device: str) -> None:
        try:
            self.run(Command(argv=(program, device), timeout=_SWAP_PATIENCE))
        except CommandError as error:
            if error.code != "host/command-failed":
                raise
            said = error.message.rpartition(": ")[2]
            hint = "free memory, so that what was swapped out fits into it" if "memory" in said else ""
            raise failure(Code.SWAP, f"{program} {device} failed: {said}", hint=hint) from error

    def _translate_module(self, error: CommandError, what: str) -> HostError | CommandError:
        if error.code != "host/command-failed":
            return error
        said = error.message.rpartition(": ")[2]
        if "not found" in error.message:
            release = (self._find_text("proc/sys/kernel/osrelease") or "").strip()
            return failure(
                Code.MODULE_MISSING,
                f"{what}: the kernel {release} has none of that name",
                hint="after an upgrade of the kernel the running one lost its modules: reboot",
            )
        if "in use" in error.message:
            return failure(Code.MODULE_BUSY, f"{what}: {said}")
        return failure(
            Code.MODULE_REFUSED, f"{what}: {said}", hint="see dmesg; secure boot refuses unsigned ones"
        )

    def _find_text(self, path: str) -> str | None:
        try:
            return (self.root / path).read_text(errors="replace")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise translate_os_error(error, f"read /{path}") from error


def sysctl_path(key: str) -> str:
    """Where a key is below /proc/sys: whichever of `.` and `/` comes first in it separates its parts."""
    first = next((char for char in key if char in "./"), ".")
    return key if first == "/" else key.translate(str.maketrans("./", "/."))


def parse_builtin(text: str) -> frozenset[str]:
    """The names in modules.builtin, which lists files: kernel/fs/ext4/ext4.ko."""
    stems = (line.rpartition("/")[2].partition(".ko")[0] for line in text.splitlines())
    return frozenset(stem.replace("-", "_") for stem in stems)


def parse_swaps(text: str) -> tuple[str, ...]:
    """The first column of /proc/swaps, below its heading."""
    return tuple(sorted(unescape(line.split()[0]) for line in text.splitlines()[1:] if line.strip()))


class StoppedKernel:
    """No kernel runs: nothing can be read, and what is set takes effect at boot, from files."""

    def find_sysctl(self, key: str) -> str | None:
        return None

    def set_sysctl(self, key: str, value: str) -> None:
        """Nothing to set."""

    def has_module(self, name: str) -> bool | None:
        return None

    def load_module(self, name: str) -> None:
        """Nothing to load it."""

    def unload_module(self, name: str) -> None:
        """Nothing loaded."""

    def swaps(self) -> Sequence[str]:
        return ()

    def swap_off(self, device: str) -> None:
        """None in use."""

    def swap_on(self, device: str) -> None:
        """Nothing to use it."""
