"""What a machine can be asked and told. A live machine, a root file system that does not run, and a fake in
memory are all a `Host`; no code above this door asks which one it has.

Everything that only a running machine has (loaded modules, sysctl values, active units, swap in use) answers
"not running" on one that does not run, and being told to change it is a no-op there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from flexnode.host.command import Command, Completed
from flexnode.secret import Secret


class FileKind(StrEnum):
    """What lies at a path."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    OTHER = "other"  # a device, a socket, a pipe


@dataclass(frozen=True, kw_only=True, slots=True)
class FileInfo:
    """What a path is, links not followed. `identity` changes whenever the content may have changed."""

    kind: FileKind
    mode: int  # permission bits only
    uid: int
    gid: int
    size: int = 0
    mtime_ns: int = 0
    target: str = ""  # of a link
    identity: tuple[int, ...] = ()
    xattrs: Mapping[str, bytes] = field(default_factory=dict)


class Files(Protocol):
    """Paths are absolute, as the machine itself sees them. Every change is durable when the call returns."""

    def find(self, path: str) -> FileInfo | None:
        """What lies at `path`, links not followed; None if nothing does."""
        ...

    def read(self, path: str) -> bytes:
        """The bytes of a file, a link to it followed, never out of the machine's own root."""
        ...

    def digest(self, path: str) -> str:
        """The file's SHA-256, hex. May be remembered for as long as `identity` stays the same."""
        ...

    def list(self, path: str) -> Sequence[str]:
        """The names in a directory, sorted."""
        ...

    def links(self, path: str) -> Mapping[str, str]:
        """Where each link in a directory leads, by its name; nothing of what else lies there."""
        ...

    def mounts_below(self, path: str) -> Sequence[str]:
        """Mount points at or below `path`, deepest first."""
        ...

    def write(self, path: str, data: bytes, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        """Put a file there, whole or not at all: temporary file with its final mode, fsync, rename, fsync."""
        ...

    def install(self, path: str, source: Path, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        """Like `write`, from a file outside of the host: an artifact, or a kept original."""
        ...

    def set_attributes(
        self,
        path: str,
        *,
        mode: int | None = None,
        uid: int | None = None,
        gid: int | None = None,
        xattrs: Mapping[str, bytes] | None = None,
        mtime_ns: int | None = None,
    ) -> None: ...

    def make_directory(self, path: str, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        """Make one directory; its parent exists. One that is there already gets the mode and the owner."""
        ...

    def make_link(self, path: str, target: str) -> None:
        """Put a symbolic link there, in place of whatever link or file there was, atomically."""
        ...

    def rename(self, source: str, target: str) -> None:
        """As the kernel does it: replaces a file, a link or an empty directory."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file, a link or an empty directory; nothing there is fine."""
        ...

    def remove_tree(self, path: str) -> Sequence[str]:
        """Remove a directory with all in it, never what lies behind a mount; answer the mounts it left."""
        ...

    def unmount(self, path: str) -> None:
        """Nothing mounted there is fine; one that is in use is a transient error."""
        ...


class Enablement(StrEnum):
    """Whether a unit starts by itself, as `systemctl is-enabled` says it."""

    ENABLED = "enabled"
    DISABLED = "disabled"
    MASKED = "masked"
    STATIC = "static"  # no [Install]: neither
    ABSENT = "absent"  # no such unit


@dataclass(frozen=True, kw_only=True, slots=True)
class UnitInfo:
    """A unit as systemd sees it. `invocation` names one start of it: it changes with every restart."""

    enablement: Enablement
    active: bool | None = None  # None: systemd does not run here
    failed: bool = False
    invocation: str = ""
    needs_reload: bool = False
    restarts: int = 0


class Units(Protocol):
    """systemd."""

    def find(self, name: str) -> UnitInfo: ...

    def find_all(self, names: Iterable[str]) -> Mapping[str, UnitInfo]:
        """Many at once, at the price of one."""
        ...

    def reload_manager(self) -> None: ...
    def enable(self, name: str) -> None: ...
    def disable(self, name: str) -> None: ...

    def mask(self, name: str) -> None:
        """Refused where the unit's own file lies in /etc/systemd/system: that is where the mask goes."""
        ...

    def unmask(self, name: str) -> None: ...
    def start(self, name: str) -> None: ...

    def stop(self, name: str) -> None:
        """A unit that is not loaded is fine; a failed one is not failed any more."""
        ...

    def restart(self, name: str) -> None: ...
    def reload(self, name: str) -> None: ...

    def reboot(self) -> None:
        """Ask systemd for it, in order; returns before the machine goes down. Nothing where none runs."""
        ...


class Kernel(Protocol):
    """The running kernel's adjustable parts."""

    def find_sysctl(self, key: str) -> str | None:
        """The value, its whitespace folded; None where there is no such key, or no kernel runs."""
        ...

    def set_sysctl(self, key: str, value: str) -> None: ...

    def has_module(self, name: str) -> bool | None:
        """Loaded or built in; None where no kernel runs."""
        ...

    def load_module(self, name: str) -> None: ...
    def unload_module(self, name: str) -> None: ...

    def swaps(self) -> Sequence[str]:
        """The devices and files in use as swap."""
        ...

    def swap_off(self, device: str) -> None: ...
    def swap_on(self, device: str) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Transaction:
    """What the package manager would do. Names only."""

    installs: tuple[str, ...] = ()
    upgrades: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Proxies:
    """The way out to package archives, where the package manager is not set to one of its own."""

    http: Secret | None = None
    https: Secret | None = None
    exempt: tuple[str, ...] = ()


NO_PROXIES = Proxies()


class Packages(Protocol):
    """apt and dpkg. Waits for a locked dpkg, repairs one that was interrupted half-way."""

    def installed(self, names: Iterable[str]) -> frozenset[str]: ...

    def simulate(
        self, names: Iterable[str], debs: Sequence[Path] = (), *, via: Proxies = NO_PROXIES
    ) -> Transaction:
        """What `install` would do. `debs`: package files to choose from in place of any archive.

        Of those only what the named packages need is installed, and no network is used.
        """
        ...

    def simulate_purge(self, names: Iterable[str]) -> Transaction:
        """What `purge` would do: everything in `removes`, what depends on the named ones too."""
        ...

    def install(
        self, names: Iterable[str], debs: Sequence[Path] = (), *, via: Proxies = NO_PROXIES
    ) -> None: ...
    def purge(self, names: Iterable[str]) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """A system user with a group of the same name."""

    name: str
    home: str = "/nonexistent"
    shell: str = "/usr/sbin/nologin"


class Accounts(Protocol):
    """Users and groups."""

    def has_user(self, name: str) -> bool: ...
    def has_group(self, name: str) -> bool: ...
    def add_user(self, account: Account) -> None: ...
    def add_group(self, name: str) -> None: ...
    def remove_user(self, name: str) -> None: ...
    def remove_group(self, name: str) -> None: ...


class Runtime(Protocol):
    """The container runtime. Every method raises a transient error while it is down."""

    def images(self) -> frozenset[str]:
        """References of the images in the namespace that kubelet uses."""
        ...

    def import_image(self, archive: Path) -> None: ...

    def pull_image(self, reference: str) -> None:
        """From the registry or mirror that the runtime knows for it; may take minutes."""
        ...

    def remove_image(self, reference: str) -> None:
        """None of that name is fine. Other names of the same image go with it."""
        ...

    def stop_all_pods(self) -> Sequence[str]:
        """Stop and remove every sandbox with its containers; answer their names."""
        ...

    def try_sandbox(self) -> None:
        """Start and remove a sandbox with the runtime's default seccomp profile; raise if it cannot."""
        ...


class Network(Protocol):
    """Interfaces and packet filter rules that programs left behind. On a machine that does not run: none."""

    def links(self) -> Sequence[str]:
        """The names of the network interfaces, sorted."""
        ...

    def remove_link(self, name: str) -> None:
        """Nothing of that name is fine."""
        ...

    def chains(self) -> Sequence[str]:
        """Every chain of every packet filter, as FAMILY/TABLE/CHAIN, sorted."""
        ...

    def remove_chains(self, prefixes: Sequence[str]) -> None:
        """Remove the chains whose names start so, and the rules that jump to them; no other rule."""
        ...

    def remove_tables(self, names: Sequence[str]) -> None:
        """Remove whole nftables tables of these names, in every family."""
        ...


class Host(Protocol):
    """One machine."""

    @property
    def files(self) -> Files: ...
    @property
    def units(self) -> Units: ...
    @property
    def kernel(self) -> Kernel: ...
    @property
    def packages(self) -> Packages: ...
    @property
    def accounts(self) -> Accounts: ...
    @property
    def runtime(self) -> Runtime: ...
    @property
    def network(self) -> Network: ...

    def run(self, command: Command) -> Completed:
        """Run a program there that only reads; what changes the machine has a method of its own."""
        ...
