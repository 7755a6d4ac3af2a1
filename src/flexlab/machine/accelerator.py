"""Which accelerator works here. `/dev/kvm` may exist and still hang every stock kernel: only a boot tells."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import msgspec

from flexlab.base import Base
from flexlab.base.initrd import PROBE, PROBE_ANSWER
from flexlab.machine.qemu import Accelerator, compose_board
from flexlab.paths import cache_dir
from flexnode.errors import CommandError
from flexnode.host import Command, run

DEVICE = Path("/dev/kvm")

_TIMEOUT = 8.0
"""With KVM a kernel gets there in one second; a machine that needs eight is better called broken."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe found, and on which boot of which kernel: it holds for no other."""

    boot: str
    kernel: str
    accelerator: Accelerator


def find_accelerator(base: Base) -> Accelerator:
    """KVM where it has been seen to run a kernel and a program, else emulation. Probes once per host boot."""
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return Accelerator.TCG
    boot, kernel = Path("/proc/sys/kernel/random/boot_id").read_text().strip(), platform.release()
    known = _load()
    if known is None or (known.boot, known.kernel) != (boot, kernel):
        known = Finding(boot=boot, kernel=kernel, accelerator=_probe(base))
        _save(known)
    return known.accelerator


def _probe(base: Base) -> Accelerator:
    argv = (
        "qemu-system-x86_64",
        *compose_board(Accelerator.KVM, base.suite, cpus=2, memory_mib=512),
        *("-kernel", str(base.kernel)),
        *("-initrd", str(base.initrd)),
        *("-append", f"console=ttyS0 quiet panic=-1 {PROBE}"),
        *("-serial", "stdio"),
        "-no-reboot",
    )
    try:
        said = run(Command(argv=argv, timeout=_TIMEOUT)).text
    except CommandError:  # it hung, or QEMU gave up
        return Accelerator.TCG
    return Accelerator.KVM if PROBE_ANSWER in said else Accelerator.TCG


def _file() -> Path:
    return cache_dir() / "accelerator.json"


def _load() -> Finding | None:
    try:
        return msgspec.json.decode(_file().read_bytes(), type=Finding)
    except (OSError, msgspec.MsgspecError):
        return None


def _save(finding: Finding) -> None:
    path = _file()
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_bytes(msgspec.json.encode(finding))
    draft.replace(path)
