"""Units by what lies on disk: where systemd does not run, links are all that enabling one means.

The links are the ones that `systemctl --root` would lay. They are laid here, through the door to files, so
that they are durable, stay inside of the root, and need no systemd on the machine that bakes an image.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence

from flexnode.host.door import Enablement, FileKind, Files, UnitInfo
from flexnode.host.failures import Code, failure
from flexnode.host.unit_file import (
    ADMIN_UNITS,
    UNIT_PATH,
    Install,
    parse_install,
    template_of,
)

NULL = "/dev/null"
_PULLED_IN_BY = (".wants", ".requires", ".upholds")


class LinkedUnits:
    """The units of a root file system that does not run: nothing is active, nothing starts or stops."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def find(self, name: str) -> UnitInfo:
        return UnitInfo(enablement=find_enablement(self._files, name))

    def find_all(self, names: Iterable[str]) -> Mapping[str, UnitInfo]:
        return {name: self.find(name) for name in names}

    def enable(self, name: str) -> None:
        self._enable(name, set())

    def disable(self, name: str) -> None:
        for link in enabling_links(self._files, name):
            self._files.remove(link)
            folder = posixpath.dirname(link)
            if folder != ADMIN_UNITS and not self._files.list(folder):
                self._files.remove(folder)

    def mask(self, name: str) -> None:
        require_maskable(self._files, name)
        if not _is_masked(self._files, name):
            ensure_directory(self._files, ADMIN_UNITS)
            self._files.make_link(f"{ADMIN_UNITS}/{name}", NULL)

    def unmask(self, name: str) -> None:
        if _is_masked(self._files, name):
            self._files.remove(f"{ADMIN_UNITS}/{name}")

    def reload_manager(self) -> None:
        """Nobody has read anything that could be out of date."""

    def start(self, name: str) -> None:
        """Nothing runs here."""

    def stop(self, name: str) -> None:
        """Nothing runs here."""

    def restart(self, name: str) -> None:
        """Nothing runs here."""

    def reload(self, name: str) -> None:
        """Nothing runs here."""

    def reboot(self) -> None:
        """Nothing runs here."""

    def _enable(self, name: str, seen: set[str]) -> None:
        seen.add(name)
        file = require_unit_file(self._files, name)
        install = read_install(self._files, file)
        for link in install.links(name):
            there = self._files.find(link)
            if there is None or there.target != file:
                ensure_directory(self._files, posixpath.dirname(link))
                self._files.make_link(link, file)
        for other in install.also:
            if other not in seen and find_unit_file(self._files, other):
                self._enable(other, seen)


def find_enablement(files: Files, name: str) -> Enablement:
    """As `systemctl is-enabled` would say it."""
    if _is_masked(files, name):
        return Enablement.MASKED
    file = find_unit_file(files, name)
    if not file:
        return Enablement.ABSENT
    if enabling_links(files, name):
        return Enablement.ENABLED
    return Enablement.DISABLED if read_install(files, file) != Install() else Enablement.STATIC


def find_unit_file(files: Files, name: str) -> str:
    """Where the unit's file is, or its template's; empty if there is none."""
    candidates = dict.fromkeys((name, template_of(name)))
    paths = (f"{folder}/{each}" for each in candidates for folder in UNIT_PATH)
    return next((path for path in paths if files.find(path) is not None), "")


def require_unit_file(files: Files, name: str) -> str:
    if _is_masked(files, name):
        raise failure(Code.UNIT_MASKED, f"{name} is masked")
    if file := find_unit_file(files, name):
        return file
    raise failure(Code.UNIT_MISSING, f"there is no unit {name}")


def require_maskable(files: Files, name: str) -> None:
    """A mask is a link in the administrator's directory: a unit's own file there leaves no room for it."""
    there = files.find(f"{ADMIN_UNITS}/{name}")
    if there is not None and there.kind is not FileKind.LINK:
        raise failure(
            Code.UNIT_IN_THE_WAY, f"cannot mask {name}: its file lies in {ADMIN_UNITS}, where the mask goes"
        )


def enabling_links(files: Files, name: str) -> Sequence[str]:
    """The links that make a unit start with others, and its other names."""
    if files.find(ADMIN_UNITS) is None:
        return ()
    entries = [f"{ADMIN_UNITS}/{entry}" for entry in files.list(ADMIN_UNITS)]
    links = [f"{entry}/{name}" for entry in entries if entry.endswith(_PULLED_IN_BY)]
    file = find_unit_file(files, name)
    if file:
        links += [f"{ADMIN_UNITS}/{alias}" for alias in read_install(files, file).aliases(name)]
    return [link for link in links if _is_link(files, link)]


def read_install(files: Files, file: str) -> Install:
    return parse_install(files.read(file).decode(errors="replace"))


def ensure_directory(files: Files, path: str) -> None:
    """The directory with its parents, as systemctl makes them."""
    if files.find(path) is None:
        ensure_directory(files, posixpath.dirname(path))
        files.make_directory(path, mode=0o755)


def _is_link(files: Files, path: str) -> bool:
    there = files.find(path)
    return there is not None and there.kind is FileKind.LINK and there.target != NULL


def _is_masked(files: Files, name: str) -> bool:
    there = files.find(f"{ADMIN_UNITS}/{name}")
    return there is not None and there.target == NULL
