"""Debian packages, by apt and dpkg.

The machine's own package lists are never touched. Where they are missing or too old, as on a fresh cloud
image, lists of our own are fetched beside them: a plan writes nothing, and leaving has nothing to put back.
Where package files are given, they are all that apt knows: it chooses among them, and asks no archive.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flexnode.clock import Clock, SystemClock
from flexnode.errors import CommandError, FlexError, HostError
from flexnode.host.apt_words import INSTALLED, is_half_way, parse_simulation, parse_status, translate_apt
from flexnode.host.command import Command, Completed, run
from flexnode.host.door import NO_PROXIES, Files, Proxies, Transaction
from flexnode.host.failures import Code
from flexnode.retry import retry

STATUS = "/var/lib/dpkg/status"
_PENDING = "/var/lib/dpkg/updates"
_LOOKED_AT = (
    STATUS,
    _PENDING,
    "/var/lib/apt/lists",
    "/var/lib/apt/extended_states",
    "/etc/apt",
    "/etc/apt/sources.list",
    "/etc/apt/sources.list.d",
    "/etc/apt/preferences.d",
    "/etc/apt/apt.conf.d",
)
"""What apt's answers depend on: a change in one of these directories changes the directory itself."""
_CACHE = "/var/cache"
_FOLDER = "aks-flex-node-apt-"

_ENVIRONMENT = {
    "DEBIAN_FRONTEND": "noninteractive",
    "DEBIAN_PRIORITY": "critical",
    "APT_LISTCHANGES_FRONTEND": "none",
    "NEEDRESTART_SUSPEND": "1",  # or it would restart services under a running node
}
_OPTIONS = (
    "APT::Get::AutomaticRemove=false",
    "Acquire::Retries=1",
    "Acquire::http::Timeout=20",
    "Acquire::https::Timeout=20",
    "DPkg::Lock::Timeout=300",
    "Dpkg::Options::=--force-confdef",
    "Dpkg::Options::=--force-confold",
    "Dpkg::Use-Pty=0",
)
_NO_ARCHIVE = ("Dir::Etc::SourceList=/dev/null", "Dir::Etc::SourceParts=/dev/null")
_OFFERED = "APT::Sources::With::="
_NO_CACHE = ("Dir::Cache::pkgcache=", "Dir::Cache::srcpkgcache=")
"""apt's caches belong to the machine's own lists."""
_EVEN_IMPORTANT = ("--allow-remove-essential",)
"""What is purged was not there before: a machine that did without e2fsprogs does so again."""
_PATIENCE = 1800.0
_LOCK_DELAYS = (2.0,) * 5 + (10.0,) * 29
"""dpkg by itself does not wait for its lock: about the five minutes that apt does."""


@dataclass(kw_only=True)
class AptPackages:
    """`run` runs programs where the packages lie: on this machine, or in the root file system of another."""

    files: Files
    run: Callable[[Command], Completed] = run
    clock: Clock = field(default_factory=SystemClock)
    _folder: str = ""
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    """A check that nobody waits for any more may still be at it when somebody installs."""
    _fetched: tuple[str, ...] = ()  # options that name lists of our own, once there are any
    _read: tuple[object, Mapping[str, str]] = (None, {})  # dpkg's table, and the file that it was read from
    _simulated: dict[tuple[str, ...], Transaction] = field(default_factory=dict)
    _looked_at: tuple[object, ...] = ()  # as it was when these were simulated

    def installed(self, names: Iterable[str]) -> frozenset[str]:
        states = self._states()
        return frozenset(name for name in names if states.get(name) in INSTALLED)

    def simulate(
        self, names: Iterable[str], debs: Sequence[Path] = (), *, via: Proxies = NO_PROXIES
    ) -> Transaction:
        wanted = tuple(names)
        with self._turn:
            return self._simulate("install", *wanted, debs=debs, via=via) if wanted else Transaction()

    def simulate_purge(self, names: Iterable[str]) -> Transaction:
        there = self._known(names)
        with self._turn:
            return self._simulate("purge", *there, flags=_EVEN_IMPORTANT) if there else Transaction()

    def install(self, names: Iterable[str], debs: Sequence[Path] = (), *, via: Proxies = NO_PROXIES) -> None:
        wanted, flags = tuple(names), ("--no-remove", "--no-install-recommends")
        if wanted:
            with self._turn:
                self._repair()
                self._change("install", *wanted, flags=flags, debs=debs, via=via)

    def purge(self, names: Iterable[str]) -> None:
        there = self._known(names)
        if there:
            with self._turn:
                self._repair()
                self._change("purge", *there, flags=_EVEN_IMPORTANT)

    def _simulate(
        self,
        verb: str,
        *names: str,
        flags: tuple[str, ...] = (),
        debs: Sequence[Path] = (),
        via: Proxies = NO_PROXIES,
    ) -> Transaction:
        """Asked once, for as long as nothing changes that apt would look at."""
        looked_at = tuple(map(self._identify, _LOOKED_AT))
        if looked_at != self._looked_at:
            self._simulated.clear()
        self._looked_at = looked_at
        question = (verb, *sorted((*names, *map(str, debs))))
        if question not in self._simulated:
            what = f"{verb} {' '.join(names)}"
            argv = ("--simulate", verb, "--no-install-recommends", *flags, *names)
            done = self._with_lists(
                lambda options: self._apt(what, *argv, options=options, via=via),
                debs,
                via,
                archives=verb != "purge",
            )
            self._simulated[question] = parse_simulation(done.text)
        return self._simulated[question]

    def _identify(self, path: str) -> object:
        info = self.files.find(path)
        return info and info.identity

    def _change(
        self,
        verb: str,
        *names: str,
        flags: tuple[str, ...] = (),
        debs: Sequence[Path] = (),
        via: Proxies = NO_PROXIES,
    ) -> None:
        what = f"{verb} {' '.join(names)}"

        def change(options: tuple[str, ...]) -> Completed:
            try:
                return self._apt(what, verb, *flags, *names, options=options, via=via)
            except HostError as error:
                if error.code != Code.PACKAGE_INTERRUPTED:
                    raise
            self._configure()
            return self._apt(what, verb, *flags, *names, options=options, via=via)

        self._with_lists(change, debs, via, archives=verb != "purge")

    def _with_lists(
        self,
        act: Callable[[tuple[str, ...]], Completed],
        debs: Sequence[Path],
        via: Proxies,
        *,
        archives: bool,
    ) -> Completed:
        """Once more with fresh lists, where the present ones do not know a package or its latest file.

        Without `archives` none is looked at: what is purged is here, whatever state their lists are in.
        """
        if debs or not archives:
            return act(self._among(debs))
        try:
            return act(self._fetched)
        except HostError as error:
            if self._fetched or error.code not in (Code.PACKAGE_UNKNOWN, Code.PACKAGE_STALE):
                raise
        self._fetch_lists(via)
        return act(self._fetched)

    def _among(self, debs: Sequence[Path]) -> tuple[str, ...]:
        """The options with which these files are all that there is to install: apt takes what is needed."""
        lists = self._make_lists("no-lists")
        files = (f"{_OFFERED}{path}" for path in self._lay_out(debs))
        return (f"Dir::State::Lists={lists}", *_NO_CACHE, *_NO_ARCHIVE, *files)

    def _fetch_lists(self, via: Proxies) -> None:
        lists = self._make_lists("lists")
        options = (
            f"Dir::State::Lists={lists}",
            *_NO_CACHE,
            "Acquire::Languages=none",
            "Acquire::GzipIndexes=true",
        )
        strict = ("-o", "APT::Update::Error-Mode=any")  # else an unreachable archive is a mere warning
        self._apt("fetch the package lists", "update", *strict, options=options, via=via)
        self._fetched = options

    def _make_lists(self, name: str) -> str:
        lists = f"{self._own_folder()}/{name}"
        for folder in (lists, f"{lists}/partial", f"{lists}/auxfiles"):
            self.files.make_directory(folder, mode=0o755)
        return lists

    def _repair(self) -> None:
        """Finish what another package manager was killed at."""
        pending = self.files.list(_PENDING) if self.files.find(_PENDING) else ()
        if is_half_way(self._states()) or any(name.isdecimal() for name in pending):
            self._configure()

    def _configure(self) -> None:
        argv = ("dpkg", "--configure", "--pending", "--force-confdef", "--force-confold")
        command = Command(argv=argv, env=_ENVIRONMENT, timeout=_PATIENCE)
        retry(
            lambda: self._run(command, "finish what was installed half-way"),
            delays=_LOCK_DELAYS,
            clock=self.clock,
        )

    def _apt(self, what: str, *argv: str, options: tuple[str, ...], via: Proxies = NO_PROXIES) -> Completed:
        flags = tuple(word for option in (*_OPTIONS, *options) for word in ("-o", option))
        env = {**_ENVIRONMENT, **_name_proxies(via)}
        command = Command(argv=("apt-get", "-y", "-q", *flags, *argv), env=env, timeout=_PATIENCE)
        return self._run(command, what, offline=any(option.startswith(_OFFERED) for option in options))

    def _run(self, command: Command, what: str, *, offline: bool = False) -> Completed:
        try:
            return self.run(command)
        except CommandError as error:
            if error.code != "host/command-failed":
                raise
            words = error.message.partition(" exited with ")[2].partition(": ")[2]
            raise translate_apt(words, what, offline=offline) from error

    def _lay_out(self, debs: Sequence[Path]) -> tuple[str, ...]:
        """apt knows a package file by its ending, and sees only what lies on its own machine."""
        paths = []
        for deb in debs:
            paths.append(path := f"{self._own_folder()}/{deb.name.removesuffix('.deb')}.deb")
            if self.files.find(path) is None:
                self.files.install(path, deb, mode=0o644)
        return tuple(paths)

    def _own_folder(self) -> str:
        """Of this process; gone with it. What a killed one left goes first."""
        if not self._folder:
            for name in self.files.list(_CACHE):
                if name.startswith(_FOLDER) and not Path(f"/proc/{name.removeprefix(_FOLDER)}").exists():
                    self.files.remove_tree(f"{_CACHE}/{name}")
            self._folder = f"{_CACHE}/{_FOLDER}{os.getpid()}"
            self.files.make_directory(self._folder, mode=0o755)
            weakref.finalize(self, _tidy, self.files, self._folder)
        return self._folder

    def _known(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of which something is there, if only their configuration."""
        states = self._states()
        return tuple(name for name in names if states.get(name, "not-installed") != "not-installed")

    def _states(self) -> Mapping[str, str]:
        """dpkg puts a new file there with every change."""
        identity = self._identify(STATUS)
        if identity is None:
            return {}
        if self._read[0] != identity:
            self._read = (identity, parse_status(self.files.read(STATUS).decode(errors="replace")))
        return self._read[1]


def _name_proxies(via: Proxies) -> dict[str, str]:
    """In the environment, where only root can read a password. apt's own settings win over it."""
    named = {"http_proxy": via.http, "https_proxy": via.https}
    found = {name: url.reveal() for name, url in named.items() if url is not None}
    return {**found, "no_proxy": ",".join(via.exempt)} if found else {}


def _tidy(files: Files, folder: str) -> None:
    try:
        files.remove_tree(folder)
    except FlexError:
        return  # the next process finds it
