"""The command line of a machine: from values to words, and nothing else."""

from __future__ import annotations

import base64
from enum import StrEnum

from flexlab.base import Base
from flexlab.machine.layout import Layout
from flexlab.model import NodeSpec, Suite


class Accelerator(StrEnum):
    """How the machine's processor is made."""

    KVM = "kvm"
    TCG = "tcg"


def compose_argv(
    layout: Layout, base: Base, accelerator: Accelerator, public_key: str, resume_from: str = ""
) -> tuple[str, ...]:
    """QEMU's words for a machine; `resume_from` names a snapshot with memory that it continues from."""
    node = layout.node
    resume = ("-loadvm", resume_from) if resume_from else ()
    return (
        "qemu-system-x86_64",
        *compose_board(accelerator, base.suite, node.cpus, node.memory_mib),
        *("-name", node.name),
        *("-uuid", node.uuid),
        *("-kernel", str(base.kernel)),
        *("-initrd", str(base.initrd)),
        *("-append", _kernel_arguments(node)),
        *("-smbios", f"type=11,value={_root_key_credential(public_key)}"),
        *_disk(layout),
        *("-netdev", f"tap,id=net,ifname={node.tap},script=no,downscript=no"),
        *("-device", f"virtio-net-pci,netdev=net,mac={node.mac},romfile="),
        *("-device", "virtio-rng-pci"),
        *_sockets(layout),
        *resume,
    )


def compose_board(accelerator: Accelerator, suite: Suite, cpus: int, memory_mib: int) -> tuple[str, ...]:
    """The machine before anything is plugged in."""
    return (
        *("-machine", f"q35,accel={accelerator},hpet=off"),
        *("-cpu", _cpu(accelerator, suite)),
        *("-smp", str(cpus)),
        *("-m", str(memory_mib)),
        *("-rtc", "base=utc"),
        "-no-user-config",
        "-nodefaults",
        *("-display", "none"),
    )


def _cpu(accelerator: Accelerator, suite: Suite) -> str:
    if accelerator is Accelerator.KVM:
        return "host"
    # Page tables of five levels cost the emulation time; Debian 13 double-faults in its cmpxchg16b.
    return "max,-la57,-cx16" if suite is Suite.TRIXIE else "max,-la57"


def _kernel_arguments(node: NodeSpec) -> str:
    # mitigations=off: they protect nobody here, and an emulated processor pays dearly for them
    return f"root=/dev/vda rw console=ttyS0 quiet mitigations=off systemd.hostname={node.name}"


def _root_key_credential(public_key: str) -> str:
    encoded = base64.b64encode(public_key.encode()).decode()
    return f"io.systemd.credential.binary:ssh.authorized_keys.root={encoded}"


def _disk(layout: Layout) -> tuple[str, ...]:
    # cache=unsafe: what the guest synced survives the end of QEMU in the page cache, and that is the only
    # power cut there is; what it had not synced is in QEMU's memory no longer than in a disk's cache.
    disk = layout.relative(layout.disk)
    return (
        *("-drive", f"file={disk},if=none,id=disk,format=qcow2,cache=unsafe,aio=threads,discard=unmap"),
        *("-device", "virtio-blk-pci,drive=disk"),
    )


def _sockets(layout: Layout) -> tuple[str, ...]:
    console, log = layout.relative(layout.console), layout.relative(layout.serial_log)
    return (
        *("-chardev", f"socket,id=serial,path={console},server=on,wait=off,logfile={log},logappend=on"),
        *("-serial", "chardev:serial"),
        *("-qmp", f"unix:{layout.relative(layout.monitor)},server=on,wait=off"),
    )
