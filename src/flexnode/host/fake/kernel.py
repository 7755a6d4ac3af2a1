"""A kernel in memory: parameters, modules, swap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from flexnode.host.failures import Code, failure
from flexnode.host.fake.steps import Steps

_SYSCTLS = {
    "fs.inotify.max_user_instances": "128",
    "fs.inotify.max_user_watches": "65536",
    "kernel.keys.root_maxbytes": "25000000",
    "kernel.keys.root_maxkeys": "1000000",
    "kernel.panic": "0",
    "kernel.panic_on_oops": "0",
    "kernel.pid_max": "4194304",
    "net.core.somaxconn": "4096",
    "net.ipv4.conf.all.accept_redirects": "1",
    "net.ipv4.conf.all.forwarding": "0",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.forwarding": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv4.ip_forward": "0",
    "net.ipv4.ip_local_port_range": "32768 60999",
    "net.ipv6.conf.all.forwarding": "0",
    "net.ipv6.conf.default.forwarding": "0",
    "vm.max_map_count": "65530",
    "vm.overcommit_memory": "0",
    "vm.panic_on_oom": "0",
}

_BY_MODULE = {
    "br_netfilter": {
        "net.bridge.bridge-nf-call-arptables": "1",
        "net.bridge.bridge-nf-call-ip6tables": "1",
        "net.bridge.bridge-nf-call-iptables": "1",
    },
    "nf_conntrack": {"net.netfilter.nf_conntrack_max": "65536"},
}


@dataclass
class FakeKernel:
    """`available` modules can be loaded; those `in_use` cannot be unloaded; loading one may bring sysctls."""

    steps: Steps
    running: bool = True
    sysctls: dict[str, str] = field(default_factory=lambda: dict(_SYSCTLS))
    available: set[str] = field(default_factory=lambda: {"overlay", "br_netfilter", "nf_conntrack", "ip_vs"})
    builtin: set[str] = field(default_factory=lambda: {"ext4"})
    loaded: set[str] = field(default_factory=set)
    in_use: set[str] = field(default_factory=set)
    swap: list[str] = field(default_factory=list)
    by_module: dict[str, dict[str, str]] = field(default_factory=lambda: dict(_BY_MODULE))

    def find_sysctl(self, key: str) -> str | None:
        return self.sysctls.get(_dotted(key)) if self.running else None

    def set_sysctl(self, key: str, value: str) -> None:
        if self.running:
            if _dotted(key) not in self.sysctls:
                raise failure(Code.SYSCTL_MISSING, f"this kernel has no parameter {key}")
            with self.steps.step(f"sysctl {key}"):
                before, now = self.sysctls[_dotted(key)], " ".join(value.split())
                self.sysctls[_dotted(key)] = now
                if now != before:
                    self.sysctls |= _set_along(_dotted(key), now)

    def has_module(self, name: str) -> bool | None:
        return _underscored(name) in self.loaded | self.builtin if self.running else None

    def load_module(self, name: str) -> None:
        module = _underscored(name)
        if self.running and module not in self.loaded | self.builtin:
            if module not in self.available:
                raise failure(Code.MODULE_MISSING, f"there is no kernel module {name}")
            with self.steps.step(f"load {name}"):
                self.loaded.add(module)
                self.sysctls |= self.by_module.get(module, {})

    def unload_module(self, name: str) -> None:
        module = _underscored(name)
        if self.running and module in self.loaded:
            if module in self.in_use:
                raise failure(Code.MODULE_BUSY, f"the kernel module {name} is in use")
            with self.steps.step(f"unload {name}"):
                self.loaded.discard(module)
                for key in self.by_module.get(module, {}):
                    self.sysctls.pop(key, None)

    def swaps(self) -> Sequence[str]:
        return sorted(self.swap) if self.running else []

    def swap_off(self, device: str) -> None:
        if self.running and device in self.swap:
            with self.steps.step(f"swap off {device}"):
                self.swap.remove(device)

    def swap_on(self, device: str) -> None:
        if self.running and device not in self.swap:
            with self.steps.step(f"swap on {device}"):
                self.swap.append(device)

    def snapshot(self) -> dict[str, Any]:
        return {
            "sysctls": dict(sorted(self.sysctls.items())),
            "modules": sorted(self.loaded),
            "swap": sorted(self.swap),
        }


def _set_along(key: str, value: str) -> dict[str, str]:
    """What a kernel changes by itself when this parameter does."""
    if key in ("net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding"):
        return {
            "net.ipv4.ip_forward": value,
            "net.ipv4.conf.all.forwarding": value,
            "net.ipv4.conf.default.forwarding": value,
            "net.ipv4.conf.all.accept_redirects": "1" if value == "0" else "0",
        }
    if key == "net.ipv6.conf.all.forwarding":
        return {"net.ipv6.conf.default.forwarding": value}
    return {}


def _dotted(key: str) -> str:
    return key.replace("/", ".")


def _underscored(name: str) -> str:
    return name.replace("-", "_")
