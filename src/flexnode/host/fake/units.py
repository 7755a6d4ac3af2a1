"""A systemd in memory: units exist by their files, enablement is links, and starting is remembered."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flexnode.host.door import Enablement, UnitInfo
from flexnode.host.failures import Code, failure
from flexnode.host.fake.files import FakeFiles
from flexnode.host.fake.steps import Steps
from flexnode.host.unit_file import ADMIN_UNITS, UNIT_PATH, parse_install
from flexnode.host.unit_links import (
    NULL,
    enabling_links,
    find_enablement,
    find_unit_file,
    read_install,
    require_maskable,
    require_unit_file,
)


@dataclass
class Process:
    """What runs, or ran, of one unit."""

    active: bool = False
    failed: bool = False
    invocation: str = ""
    restarts: int = 0


@dataclass
class FakeUnits:
    """`failing` units cannot be started; `when_started` is what else happens then, by unit."""

    files: FakeFiles
    steps: Steps
    running: bool = True
    failing: set[str] = field(default_factory=set)
    when_started: dict[str, Callable[[], None]] = field(default_factory=dict)
    when_stopped: dict[str, Callable[[], None]] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)
    _loaded: dict[str, tuple[object, ...]] = field(default_factory=dict)
    _starts: int = 0

    def place(self, name: str, text: str = "", *, enabled: bool = False, active: bool = False) -> None:
        """Set the scene: a unit of the distribution, uncounted; without text, one that can be enabled."""
        text = text or f"[Unit]\nDescription={name}\n[Install]\nWantedBy=multi-user.target\n"
        self.files.place(f"{UNIT_PATH[-1]}/{name}", text)
        if enabled:
            for link in parse_install(text).links(name):
                self.files.place_link(link, f"{UNIT_PATH[-1]}/{name}")
        if active:
            self._launch(name)

    def find(self, name: str) -> UnitInfo:
        enablement = find_enablement(self.files, name)
        if not self.running:
            return UnitInfo(enablement=enablement)
        process = self.processes.get(name, Process())
        return UnitInfo(
            enablement=enablement,
            active=process.active,
            failed=process.failed,
            invocation=process.invocation,
            needs_reload=name in self._loaded and self._loaded[name] != self._fingerprint(name),
            restarts=process.restarts,
        )

    def find_all(self, names: Iterable[str]) -> Mapping[str, UnitInfo]:
        return {name: self.find(name) for name in names}

    def reload_manager(self) -> None:
        if self.running:
            with self.steps.step("reload systemd"):
                self._loaded = {
                    name: self._fingerprint(name)
                    for name in self._loaded
                    if find_unit_file(self.files, name) or self.is_active(name)
                }

    def enable(self, name: str) -> None:
        file = require_unit_file(self.files, name)
        for link in read_install(self.files, file).links(name):
            there = self.files.find(link)
            if there is None or there.target != file:
                with self.steps.step(f"enable {name}"):
                    self.files.place_link(link, file)

    def disable(self, name: str) -> None:
        for link in enabling_links(self.files, name):
            with self.steps.step(f"disable {name}"):
                del self.files.nodes[link]
                folder = posixpath.dirname(link)
                if folder != ADMIN_UNITS and not self.files.list(folder):
                    del self.files.nodes[folder]

    def mask(self, name: str) -> None:
        require_maskable(self.files, name)
        if find_enablement(self.files, name) is not Enablement.MASKED:
            with self.steps.step(f"mask {name}"):
                self.files.place_link(f"{ADMIN_UNITS}/{name}", NULL)

    def unmask(self, name: str) -> None:
        if find_enablement(self.files, name) is Enablement.MASKED:
            with self.steps.step(f"unmask {name}"):
                del self.files.nodes[f"{ADMIN_UNITS}/{name}"]

    def start(self, name: str) -> None:
        if self.running and not self.is_active(name):
            self._require_startable(name)
            with self.steps.step(f"start {name}"):
                self._launch(name)

    def stop(self, name: str) -> None:
        if self.is_active(name) or (self.running and self.processes.get(name, Process()).failed):
            with self.steps.step(f"stop {name}"):
                process = self.processes[name]
                process.active, process.failed = False, False
                if name in self.when_stopped:
                    self.when_stopped[name]()

    def restart(self, name: str) -> None:
        if self.running:
            self._require_startable(name)
            with self.steps.step(f"restart {name}"):
                self._launch(name)

    def reload(self, name: str) -> None:
        if self.running:
            if not self.is_active(name):
                raise failure(Code.UNIT_FAILED, f"cannot reload {name}: it does not run")
            with self.steps.step(f"reload {name}"):
                pass

    def reboot(self) -> None:
        if self.running:
            with self.steps.step("reboot"):
                pass

    def is_active(self, name: str) -> bool:
        return self.running and name in self.processes and self.processes[name].active

    def crash(self, name: str, *, restarted: bool = True) -> None:
        """Set the scene: the unit's process died; systemd started it again, or gave up."""
        process = self.processes[name]
        process.active, process.failed = restarted, not restarted
        if restarted:
            process.restarts += 1
            self._starts += 1
            process.invocation = f"{self._starts:032x}"

    def snapshot(self) -> dict[str, Any]:
        states = {name: (p.active, p.failed) for name, p in self.processes.items() if p.active or p.failed}
        return dict(sorted(states.items()))

    def _launch(self, name: str) -> None:
        process = self.processes.setdefault(name, Process())
        self._loaded.setdefault(name, self._fingerprint(name))
        self._starts += 1
        process.invocation = f"{self._starts:032x}"
        process.active, process.failed = name not in self.failing, name in self.failing
        if process.failed:
            raise failure(Code.UNIT_FAILED, f"{name} did not start: the fake says so")
        if name in self.when_started:
            self.when_started[name]()

    def _require_startable(self, name: str) -> None:
        if name not in self._loaded or find_unit_file(self.files, name):
            require_unit_file(self.files, name)

    def _fingerprint(self, name: str) -> tuple[object, ...]:
        """Changes when the unit's file or one of its drop-ins did."""
        file = find_unit_file(self.files, name)
        parts: list[object] = [file, self.files.find(file).identity if file else ()]  # type: ignore[union-attr]
        for folder in UNIT_PATH:
            drop_ins = f"{folder}/{name}.d"
            if self.files.find(drop_ins) is not None:
                parts += [
                    (entry, self.files.find(f"{drop_ins}/{entry}").identity)  # type: ignore[union-attr]
                    for entry in self.files.list(drop_ins)
                ]
        return tuple(parts)
