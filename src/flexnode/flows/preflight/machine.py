"""Checks of what the machine is: its user, its operating system, its kernel."""

from __future__ import annotations

from collections.abc import Iterator

from flexnode.flows.preflight.check import Finding, error, ok, warning
from flexnode.flows.preflight.reading import find_text, has_directory
from flexnode.flows.preflight.situation import Situation

SUPPORTED = {"debian": ("12", "13"), "ubuntu": ("22.04", "24.04")}
OLDEST_KERNEL = (5, 19)
MODULES = ("overlay", "br_netfilter", "nf_tables")
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
CONTROLLERS = ("cpu", "cpuset", "memory", "pids")


def check_root(situation: Situation) -> Iterator[Finding]:
    if situation.uid == 0:
        yield ok("running as root")
    else:
        yield error(
            "preflight/not-root",
            f"running as user {situation.uid}: a node is made of things that only root may change",
            hint="run again with sudo",
        )


def check_systemd(situation: Situation) -> Iterator[Finding]:
    if has_directory(situation.host, "/run/systemd/system"):
        yield ok("systemd runs this machine")
    else:
        yield error(
            "preflight/no-systemd",
            "systemd does not run this machine, so nothing would start kubelet",
            hint="use a machine or a virtual machine that boots with systemd; a container is not one",
        )


def check_os(situation: Situation) -> Iterator[Finding]:
    facts = situation.facts
    name = f"{facts.os_id or 'an unknown system'} {facts.os_version}".strip()
    if facts.os_version in SUPPORTED.get(facts.os_id, ()):
        yield ok(f"{name} ({facts.codename})")
        return
    tried = "; ".join(f"{system} {', '.join(versions)}" for system, versions in SUPPORTED.items())
    yield warning(
        "preflight/os-untried",
        f"{name}: nobody has tried this operating system",
        hint=f"tried are {tried}; with another one, expect to find out for yourself",
    )


def check_kernel(situation: Situation) -> Iterator[Finding]:
    release = (find_text(situation.host, "/proc/sys/kernel/osrelease") or "").strip()
    found = situation.facts.kernel
    wanted = ".".join(map(str, OLDEST_KERNEL))
    if found == (0, 0):
        yield warning(
            "preflight/kernel-unknown",
            f"the kernel's version cannot be read from {release or 'this machine'!r}",
            hint=f"make sure that `uname -r` says {wanted} or newer",
        )
    elif found < OLDEST_KERNEL:
        yield error(
            "preflight/kernel-too-old",
            f"Linux {release}: a node needs {wanted} or newer",
            hint="install a newer one (Ubuntu 22.04: apt-get install linux-generic-hwe-22.04), and reboot",
        )
    else:
        yield ok(f"Linux {release}")


def check_kernel_features(situation: Situation) -> Iterator[Finding]:
    host = situation.host
    missing = [f"{name} namespaces" for name in NAMESPACES if not host.files.find(f"/proc/self/ns/{name}")]
    if not has_directory(host, "/sys/fs/bpf"):
        missing.append("eBPF (CONFIG_BPF_SYSCALL)")
    release = (find_text(host, "/proc/sys/kernel/osrelease") or "").strip()
    not_loaded = [name for name in MODULES if not host.kernel.has_module(name)]
    listed = _modules_on_disk(situation, release)
    if listed is not None:
        missing += [f"the module {name}" for name in not_loaded if name not in listed]
    if missing:
        yield error(
            "preflight/kernel-feature",
            f"the kernel lacks {', '.join(missing)}",
            hint="boot the distribution's own kernel, with all its modules (linux-modules-extra on Ubuntu)",
        )
    elif not_loaded and listed is None:
        yield warning(
            "preflight/kernel-modules-unknown",
            f"/lib/modules/{release} does not exist, and not loaded: {', '.join(not_loaded)}",
            hint="if the kernel was just upgraded, reboot; else install its modules, or build them in",
        )
    else:
        yield ok("namespaces, overlayfs, bridge filter, nftables, eBPF")


def check_cgroup2(situation: Situation) -> Iterator[Finding]:
    text = find_text(situation.host, "/sys/fs/cgroup/cgroup.controllers")
    if text is None:
        yield error(
            "preflight/cgroup-v1",
            "this machine runs with cgroup v1, or with a mixture",
            hint="add systemd.unified_cgroup_hierarchy=1 to the kernel's command line and reboot",
        )
        return
    missing = [name for name in CONTROLLERS if name not in text.split()]
    if missing:
        yield error(
            "preflight/cgroup-controller",
            f"cgroup v2 lacks the controllers {', '.join(missing)}",
            hint="remove cgroup_disable=… from the kernel's command line; on a Raspberry Pi add"
            " cgroup_enable=memory; then reboot",
        )
    else:
        yield ok(f"cgroup v2 with {', '.join(CONTROLLERS)}")


def _modules_on_disk(situation: Situation, release: str) -> frozenset[str] | None:
    """The modules that could be loaded, built-in ones included; None where their list is missing."""
    listings = [
        find_text(situation.host, f"/lib/modules/{release}/{name}")
        for name in ("modules.dep", "modules.builtin")
    ]
    if listings == [None, None]:
        return None
    paths = (line.partition(":")[0] for text in listings for line in (text or "").splitlines())
    return frozenset(path.rpartition("/")[2].partition(".ko")[0].replace("-", "_") for path in paths)
