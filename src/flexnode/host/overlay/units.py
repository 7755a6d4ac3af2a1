"""Units that only pretend to be started, stopped and enabled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from flexnode.host.door import Files, UnitInfo, Units
from flexnode.host.failures import Code, failure
from flexnode.host.overlay.files import OverlayFiles
from flexnode.host.unit_file import UNIT_PATH, template_of
from flexnode.host.unit_links import LinkedUnits, find_enablement, require_unit_file


@dataclass
class OverlayUnits:
    """What the overlay's files say about a unit counts where they differ from those of the host below."""

    below: Units
    below_files: Files
    files: OverlayFiles
    _active: dict[str, bool] = field(default_factory=dict)
    _starts: dict[str, int] = field(default_factory=dict)
    _reloaded: int = 0  # the change up to which systemd would know the files
    _was_reloaded: bool = False

    def find(self, name: str) -> UnitInfo:
        return self._cover(name, self.below.find(name))

    def find_all(self, names: Iterable[str]) -> Mapping[str, UnitInfo]:
        return {name: self._cover(name, info) for name, info in self.below.find_all(names).items()}

    def reload_manager(self) -> None:
        self._reloaded = max(self.files.changed.values(), default=0)
        self._was_reloaded = True

    def enable(self, name: str) -> None:
        self._links.enable(name)
        self.reload_manager()

    def disable(self, name: str) -> None:
        self._links.disable(name)
        self.reload_manager()

    def mask(self, name: str) -> None:
        self._links.mask(name)
        self.reload_manager()

    def unmask(self, name: str) -> None:
        self._links.unmask(name)
        self.reload_manager()

    def start(self, name: str) -> None:
        if self.find(name).active is False:
            self._launch(name)

    def stop(self, name: str) -> None:
        if self.find(name).active is not None:
            self._active[name] = False

    def restart(self, name: str) -> None:
        if self.find(name).active is not None:
            self._launch(name)

    def reload(self, name: str) -> None:
        if self.find(name).active is False:
            raise failure(Code.UNIT_FAILED, f"cannot reload {name}: it does not run")

    @property
    def _links(self) -> LinkedUnits:
        return LinkedUnits(self.files)

    def _launch(self, name: str) -> None:
        require_unit_file(self.files, name)
        self._active[name] = True
        self._starts[name] = self._starts.get(name, 0) + 1

    def _cover(self, name: str, info: UnitInfo) -> UnitInfo:
        enablement = find_enablement(self.files, name)
        if enablement is not find_enablement(self.below_files, name):
            info = replace(info, enablement=enablement)
        if info.active is None:
            return info
        needs_reload = (info.needs_reload and not self._was_reloaded) or self._was_changed(name)
        info = replace(info, needs_reload=needs_reload)
        if name in self._active:
            info = replace(info, active=self._active[name], failed=False)
        if name in self._starts:
            info = replace(info, invocation=f"overlay-{name}-{self._starts[name]}")
        return info

    def _was_changed(self, name: str) -> bool:
        """Whether a file of the unit was changed since systemd was last told to look."""
        own = {f"{folder}/{each}" for folder in UNIT_PATH for each in (name, template_of(name))}
        return any(
            serial > self._reloaded
            and (path in own or path.rpartition("/")[0] in {f"{each}.d" for each in own})
            for path, serial in self.files.changed.items()
        )
