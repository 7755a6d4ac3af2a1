"""A kernel that only pretends to be changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from flexnode.host.door import Kernel


@dataclass
class OverlayKernel:
    """Where no kernel runs below, nothing is pretended either."""

    below: Kernel
    _sysctls: dict[str, str] = field(default_factory=dict)
    _modules: dict[str, bool] = field(default_factory=dict)
    _swaps: dict[str, bool] = field(default_factory=dict)

    def find_sysctl(self, key: str) -> str | None:
        found = self.below.find_sysctl(key)
        return None if found is None and not self._runs else self._sysctls.get(key, found)

    def set_sysctl(self, key: str, value: str) -> None:
        # A key that is not there may be one that a module brings, whose loading was pretended.
        self._sysctls[key] = " ".join(value.split())

    def has_module(self, name: str) -> bool | None:
        found = self.below.has_module(name)
        return None if found is None else self._modules.get(name.replace("-", "_"), found)

    def load_module(self, name: str) -> None:
        self._modules[name.replace("-", "_")] = True

    def unload_module(self, name: str) -> None:
        self._modules[name.replace("-", "_")] = False

    def swaps(self) -> Sequence[str]:
        used = dict.fromkeys(self.below.swaps(), True) | self._swaps
        return sorted(device for device, on in used.items() if on)

    def swap_off(self, device: str) -> None:
        self._swaps[device] = False

    def swap_on(self, device: str) -> None:
        self._swaps[device] = True

    @property
    def _runs(self) -> bool:
        return self.below.has_module("overlay") is not None
