"""Commands and files on a machine, over SSH from inside the lab's network.

One connection per machine is kept open and shared. It is a process of the lab like any other, and it is ended
whenever its machine loses power: a command must never wait for a machine that is gone.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from flexlab import process
from flexlab.errors import LabError
from flexlab.lab import Lab
from flexlab.machine.layout import Layout
from flexlab.model import NodeSpec
from flexlab.process import NAME_MARK
from flexnode.errors import CommandError
from flexnode.host import Command, Completed
from flexnode.host import run as run_on_host

LOST = 255
"""What ssh exits with when it fails itself. A command that exits so is taken for a lost connection."""

_CONNECT = 'exec "$@" >/dev/null 2>"$0"'
"""Starts a connection that outlives its caller: it must not hold the caller's pipes open."""


def ensure_key(lab: Lab) -> str:
    """The public key that every machine of the lab lets in as root."""
    private = lab.ssh / "id_ed25519"
    if not private.exists():
        lab.ssh.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = lab.ssh / "draft"
        for leftover in (draft, draft.with_suffix(".pub")):
            leftover.unlink(missing_ok=True)
        words = ("-q", "-t", "ed25519", "-N", "", "-C", f"flexlab-{lab.name}", "-f", str(draft))
        run_on_host(Command(argv=("ssh-keygen", *words)))
        draft.with_suffix(".pub").rename(private.with_suffix(".pub"))
        draft.rename(private)
    return private.with_suffix(".pub").read_text().strip()


def run(
    lab: Lab,
    node: NodeSpec,
    argv: tuple[str, ...] | str,
    *,
    timeout: float = 60,
    stdin: bytes = b"",
    expect: tuple[int, ...] = (0,),
) -> Completed:
    """Run a command on the machine as root, or a shell script when `argv` is a text; its exit code is real.

    A machine that cannot be reached, or is lost on the way, is a transient error.
    """
    script = argv if isinstance(argv, str) else shlex.join(argv)
    layout = Layout(lab=lab, node=node)
    destination = f"root@{node.address}"
    done = _ssh(layout, ("ssh", *_options(layout), destination, "--", script), timeout, stdin)
    if done.returncode not in expect:
        words = (done.stderr or done.stdout).decode(errors="replace").strip()[-2000:]
        raise LabError(
            f"{node.name}: `{script}` exited with {done.returncode}: {words}",
            code="machine/command-failed",
            hint=_look_there(layout),
        )
    return done


def push(lab: Lab, node: NodeSpec, source: Path, target: str) -> None:
    """Copy a file or a folder to the machine; folders above `target` must exist."""
    _copy(Layout(lab=lab, node=node), str(source.resolve()), f"root@{node.address}:{target}")


def pull(lab: Lab, node: NodeSpec, source: str, target: Path) -> None:
    """Copy a file or a folder from the machine."""
    _copy(Layout(lab=lab, node=node), f"root@{node.address}:{source}", str(target.resolve()))


def attach_shell(lab: Lab, node: NodeSpec) -> int:
    """A root shell on the machine, on the caller's terminal; returns its exit code."""
    layout = Layout(lab=lab, node=node)
    argv = ("ssh", "-t", *_options(layout), f"root@{node.address}")
    return process.attach(lab.require_place(), _in_lab(layout, argv))


def drop_connection(layout: Layout) -> None:
    """End the shared connection, and with it whatever still runs over it."""
    process.kill(process.find(layout.lab.folder, layout.ssh_process))
    layout.ssh_master.unlink(missing_ok=True)


def _copy(layout: Layout, source: str, target: str) -> None:
    done = _ssh(layout, ("scp", "-q", "-p", "-r", *_options(layout), source, target), 600, b"")
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip()[-2000:]
        raise LabError(
            f"could not copy {source} to {target}: {words}",
            code="machine/copy-failed",
            hint="see that what is copied exists, and the folder that it goes to, with room in it",
        )


def _ssh(layout: Layout, argv: tuple[str, ...], timeout: float, stdin: bytes) -> Completed:
    if not layout.ssh_master.exists():
        _connect(layout, timeout)
    done = _run(layout, argv, timeout, stdin)
    if done.returncode == LOST:
        raise _unreachable(layout, done.stderr.decode(errors="replace"))
    return done


def _connect(layout: Layout, timeout: float) -> None:
    """Open the shared connection. Not by `ControlPersist`: that overwrites the mark that we find it by."""
    log = layout.ssh_master.with_suffix(".log")
    argv = ("ssh", "-f", "-N", "-M", *_options(layout), f"root@{layout.node.address}")
    done = _run(layout, ("sh", "-c", _CONNECT, layout.relative(log), *argv), timeout, b"")
    if done.returncode:
        raise _unreachable(layout, log.read_text(errors="replace"))


def _run(layout: Layout, argv: tuple[str, ...], timeout: float, stdin: bytes) -> Completed:
    try:
        return process.run(
            layout.lab.require_place(),
            _in_lab(layout, argv),
            timeout=timeout,
            stdin=stdin,
            env={NAME_MARK: layout.ssh_process},
            expect=tuple(range(256)),
        )
    except CommandError as error:
        if not error.transient:
            raise
        raise LabError(
            f"{layout.node.name}: {argv[-1]!r} did not finish within {timeout:g} s",
            code="machine/command-timeout",
            transient=True,
            hint=_look_there(layout),
        ) from error


def _unreachable(layout: Layout, words: str) -> LabError:
    return LabError(
        f"{layout.node.name} cannot be reached, or was lost: {words.strip()[-500:] or 'no reason given'}",
        code="machine/unreachable",
        transient=True,
        hint=f"see {layout.serial_log}",
    )


def _look_there(layout: Layout) -> str:
    return f"look for yourself: flexlab node exec --name {layout.lab.name} {layout.node.name}"


def _in_lab(layout: Layout, argv: tuple[str, ...]) -> tuple[str, ...]:
    return ("env", f"--chdir={layout.lab.folder}", *argv)


def _options(layout: Layout) -> tuple[str, ...]:
    settings = {
        "BatchMode": "yes",
        "IdentitiesOnly": "yes",
        "IdentityFile": layout.relative(layout.key),
        "StrictHostKeyChecking": "no",  # a machine makes its host key on its first boot
        "UserKnownHostsFile": "/dev/null",
        "LogLevel": "ERROR",
        "ConnectTimeout": "10",
        "ServerAliveInterval": "10",
        "ServerAliveCountMax": "6",  # an emulated machine at work may be silent for a while
        "ControlPath": layout.relative(layout.ssh_master),
    }
    return ("-F", "none", *(word for name, value in settings.items() for word in ("-o", f"{name}={value}")))
