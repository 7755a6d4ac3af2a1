"""What a machine lacks is said before anything is tried, with the remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from flexnode.flows.preflight import Level, Ours
from flexnode.host.fake import FakeHost
from unit.flows.preflight.samples import DF, FACTS, GIB, RELEASE, TIMEDATECTL, Case, df, host_spec, printed

MIB = 1 << 20
ROOT_MOUNT = "22 1 254:1 / / {} shared:1 - ext4 /dev/vda1 {}\n"
OPT_MOUNT = "30 22 254:2 / /opt {} shared:9 - ext4 /dev/vdb1 rw\n"


def without(*paths: str) -> Callable[[FakeHost], None]:
    def remove(host: FakeHost) -> None:
        for path in paths:
            for each in [each for each in host.files.nodes if each == path or each.startswith(path + "/")]:
                del host.files.nodes[each]

    return remove


def having(path: str, text: str) -> Callable[[FakeHost], None]:
    return lambda host: host.files.place(path, text)


def answering(argv: tuple[str, ...], text: str) -> Callable[[FakeHost], None]:
    def answer(host: FakeHost) -> None:
        host.answers[argv] = printed(text)

    return answer


def facts(**changes: Any) -> dict[str, Any]:
    return {"facts": replace(FACTS, **changes)}


def swapping(host: FakeHost) -> None:
    host.kernel.swap.append("/dev/vda2")


def unsynchronised(answer: str | None) -> Callable[[FakeHost], None]:
    def change(host: FakeHost) -> None:
        without("/run/systemd/timesync")(host)
        if answer is not None:
            host.answers[TIMEDATECTL] = printed(answer + "\n")

    return change


CASES = [
    Case(
        about="an ordinary user",
        check="root",
        level=Level.ERROR,
        code="preflight/not-root",
        hint="sudo",
        changes={"uid": 1000},
    ),
    Case(
        about="a container without systemd",
        check="systemd",
        level=Level.ERROR,
        code="preflight/no-systemd",
        hint="boots with systemd",
        host=without("/run/systemd/system"),
    ),
    *(
        Case(
            about=f"{os_id} {version} is known",
            check="os",
            level=Level.OK,
            says=version,
            changes=facts(os_id=os_id, os_version=version),
        )
        for os_id, version in (("debian", "13"), ("ubuntu", "22.04"), ("ubuntu", "24.04"))
    ),
    *(
        Case(
            about=f"{os_id or 'nothing'} {version} is not",
            check="os",
            level=Level.WARNING,
            code="preflight/os-untried",
            hint="debian 12, 13; ubuntu 22.04, 24.04",
            changes=facts(os_id=os_id, os_version=version),
        )
        for os_id, version in (("debian", "11"), ("ubuntu", "20.04"), ("fedora", "42"), ("", ""))
    ),
    Case(
        about="a kernel of 2022, by its number and not by its text",
        check="kernel",
        level=Level.ERROR,
        code="preflight/kernel-too-old",
        says="5.15.0-91-generic",
        hint="hwe",
        host=having("/proc/sys/kernel/osrelease", "5.15.0-91-generic\n"),
        changes=facts(kernel=(5, 15)),
    ),
    Case(about="the oldest that will do", check="kernel", level=Level.OK, changes=facts(kernel=(5, 19))),
    Case(
        about="a kernel that tells no version",
        check="kernel",
        level=Level.WARNING,
        code="preflight/kernel-unknown",
        hint="uname -r",
        changes=facts(kernel=(0, 0)),
    ),
    Case(
        about="no user namespaces",
        check="kernel-features",
        level=Level.ERROR,
        code="preflight/kernel-feature",
        says="user namespaces",
        hint="the distribution's own kernel",
        host=without("/proc/self/ns/user"),
    ),
    Case(
        about="no eBPF",
        check="kernel-features",
        level=Level.ERROR,
        code="preflight/kernel-feature",
        says="eBPF",
        hint="the distribution's own kernel",
        host=without("/sys/fs/bpf"),
    ),
    Case(
        about="a module that was not packaged",
        check="kernel-features",
        level=Level.ERROR,
        code="preflight/kernel-feature",
        says="br_netfilter",
        hint="linux-modules-extra",
        host=having(
            f"/lib/modules/{RELEASE}/modules.dep",
            "kernel/fs/overlayfs/overlay.ko.zst:\nkernel/net/netfilter/nf_tables.ko.zst:\n",
        ),
    ),
    Case(
        about="modules that are compressed, or built in",
        check="kernel-features",
        level=Level.OK,
        host=lambda host: (
            having(f"/lib/modules/{RELEASE}/modules.dep", "kernel/fs/overlayfs/overlay.ko.zst:\n")(host),
            having(
                f"/lib/modules/{RELEASE}/modules.builtin",
                "kernel/net/bridge/br_netfilter.ko\nkernel/net/netfilter/nf_tables.ko\n",
            )(host),
        )[0],
    ),
    Case(
        about="a kernel that was upgraded without a reboot",
        check="kernel-features",
        level=Level.WARNING,
        code="preflight/kernel-modules-unknown",
        hint="reboot",
        host=without("/lib/modules", "/usr/lib/modules"),
    ),
    Case(
        about="cgroup v1",
        check="cgroup2",
        level=Level.ERROR,
        code="preflight/cgroup-v1",
        hint="systemd.unified_cgroup_hierarchy=1",
        host=without("/sys/fs/cgroup/cgroup.controllers"),
    ),
    Case(
        about="a Raspberry Pi as it is sold",
        check="cgroup2",
        level=Level.ERROR,
        code="preflight/cgroup-controller",
        says="memory",
        hint="cgroup_enable=memory",
        host=having("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io pids\n"),
    ),
    Case(
        about="swap that the product switches off",
        check="swap",
        level=Level.OK,
        says="/dev/vda2 will be switched off",
        host=swapping,
    ),
    Case(
        about="swap that the user keeps",
        check="swap",
        level=Level.WARNING,
        code="preflight/swap",
        says="/dev/vda2",
        hint="host.manageSwap: true",
        host=swapping,
        changes={"spec": host_spec(manage_swap=False)},
    ),
    Case(
        about="half a gibibyte",
        check="memory",
        level=Level.ERROR,
        code="preflight/memory",
        hint="1 GiB",
        changes=facts(memory=512 * MIB),
    ),
    Case(
        about="a machine sold with one gibibyte",
        check="memory",
        level=Level.WARNING,
        code="preflight/memory-small",
        hint="2 GiB",
        changes=facts(memory=960 * MIB),
    ),
    Case(
        about="a machine sold with two",
        check="memory",
        level=Level.OK,
        changes=facts(memory=1950 * MIB),
    ),
    Case(
        about="one processor",
        check="cpus",
        level=Level.WARNING,
        code="preflight/cpus",
        hint="2 or more",
        changes=facts(cpus=1),
    ),
    Case(
        about="a full disk, with the amount that is missing",
        check="disk",
        level=Level.ERROR,
        code="preflight/disk-space",
        says="are missing",
        hint="free space on /",
        transient=True,
        host=answering(DF, df("/", size=20 * GIB, free=GIB // 2)),
    ),
    Case(
        about="little space on a node that has joined, where most lies already",
        check="disk",
        level=Level.WARNING,
        code="preflight/disk-tight",
        says="are missing",
        hint="free space on /",
        host=answering(DF, df("/", size=20 * GIB, free=GIB // 2)),
        changes={"ours": Ours(joined=True)},
    ),
    Case(
        about="a disk that would be nearly full",
        check="disk",
        level=Level.WARNING,
        code="preflight/disk-nearly-full",
        hint="kubelet.evictionHard",
        host=answering(DF, df("/", size=40 * GIB, free=6 * GIB)),
    ),
    Case(
        about="a mount point with a space in its name",
        check="disk",
        level=Level.OK,
        says="/mnt/big disk",
        host=answering(DF, df("/mnt/big disk", size=40 * GIB, free=36 * GIB)),
    ),
    Case(
        about="no inodes left",
        check="inodes",
        level=Level.ERROR,
        code="preflight/inodes",
        hint="du --inodes",
        transient=True,
        host=answering(DF, df("/", size=40 * GIB, free=30 * GIB, free_inodes=12)),
    ),
    Case(
        about="few inodes left",
        check="inodes",
        level=Level.WARNING,
        code="preflight/inodes-few",
        hint="du --inodes",
        host=answering(DF, df("/", size=40 * GIB, free=30 * GIB, free_inodes=100_000)),
    ),
    Case(
        about="a file system that counts none",
        check="inodes",
        level=Level.OK,
        host=answering(DF, df("/", size=40 * GIB, free=30 * GIB, inodes=0, free_inodes=0)),
    ),
    Case(
        about="a root that turned read-only after an error of the disk",
        check="writable",
        level=Level.ERROR,
        code="host/read-only",
        says="/etc",
        hint="remount,rw /",
        host=having("/proc/self/mountinfo", ROOT_MOUNT.format("ro,relatime", "ro,errors=remount-ro")),
    ),
    Case(
        about="a file system that is read-only behind a mount that is not",
        check="writable",
        level=Level.ERROR,
        code="host/read-only",
        hint="remount,rw /",
        host=having("/proc/self/mountinfo", ROOT_MOUNT.format("rw", "ro")),
    ),
    Case(
        about="one read-only mount among others",
        check="writable",
        level=Level.ERROR,
        code="host/read-only",
        says="/opt is mounted read-only, and the node needs to write /opt/cni/bin",
        hint="remount,rw /opt",
        host=having("/proc/self/mountinfo", ROOT_MOUNT.format("rw", "rw") + OPT_MOUNT.format("ro")),
    ),
    Case(
        about="a mount that forbids programs",
        check="writable",
        level=Level.ERROR,
        code="preflight/noexec",
        says="/opt/cni/bin",
        hint="/etc/fstab",
        host=having("/proc/self/mountinfo", ROOT_MOUNT.format("rw", "rw") + OPT_MOUNT.format("rw,noexec")),
    ),
    Case(
        about="no /proc",
        check="writable",
        level=Level.WARNING,
        code="preflight/mounts-unknown",
        hint="/proc",
        host=without("/proc/self/mountinfo"),
    ),
    Case(
        about="a limit that was lowered",
        check="ulimits",
        level=Level.WARNING,
        code="preflight/limit-low",
        says="kernel.pid_max is 4096",
        hint="host.sysctls",
        host=lambda host: host.kernel.sysctls.update({"kernel.pid_max": "4096"}),
    ),
    Case(
        about="a limit that the configuration raises",
        check="ulimits",
        level=Level.OK,
        host=lambda host: host.kernel.sysctls.update({"kernel.pid_max": "4096"}),
        changes={"sysctls": {"kernel.pid_max": "4194304"}},
    ),
    Case(
        about="a clock that nobody keeps",
        check="time-sync",
        level=Level.WARNING,
        code="preflight/no-time-daemon",
        hint="host.manageTime: true",
        changes={"spec": host_spec(manage_time=False)},
    ),
    Case(
        about="the user's own chrony, which is in step",
        check="time-sync",
        level=Level.OK,
        says="chrony.service",
        host=unsynchronised("yes"),
        changes={**facts(time_daemon="chrony.service"), "spec": host_spec(manage_time=False)},
    ),
    Case(
        about="a clock that is not in step",
        check="time-sync",
        level=Level.WARNING,
        code="preflight/time-not-synchronised",
        hint="time server",
        host=unsynchronised("no"),
    ),
    Case(
        about="a minimal system where nobody can be asked",
        check="time-sync",
        level=Level.OK,
        says="cannot be asked",
        host=unsynchronised(None),
    ),
    Case(
        about="a machine that nobody named",
        check="hostname",
        level=Level.ERROR,
        code="preflight/hostname-local",
        hint="hostnamectl set-hostname",
        changes=facts(hostname="localhost"),
    ),
    Case(
        about="no name at all",
        check="hostname",
        level=Level.ERROR,
        code="preflight/hostname-local",
        hint="node.name",
        changes=facts(hostname=""),
    ),
    Case(
        about="a name that DNS would not take",
        check="hostname",
        level=Level.ERROR,
        code="preflight/hostname-invalid",
        says="edge_box",
        hint="node.name",
        changes=facts(hostname="edge_box"),
    ),
    Case(
        about="capital letters, which the node's name is written without",
        check="hostname",
        level=Level.OK,
        says="Node-1",
        changes=facts(hostname="Node-1"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_machine(case: Case) -> None:
    case.hold()
