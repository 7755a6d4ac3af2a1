"""The little of a unit file that says whether, and for which other units, it starts by itself."""

from __future__ import annotations

from dataclasses import dataclass

UNIT_PATH = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
)
"""Where unit files lie, the strongest first."""

ADMIN_UNITS = UNIT_PATH[0]

_FOLDERS = {"WantedBy": "wants", "RequiredBy": "requires", "UpheldBy": "upholds"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Install:
    """The [Install] section: pairs of another unit and the folder that it looks into, and the rest."""

    pulled_in_by: tuple[tuple[str, str], ...] = ()
    alias: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    default_instance: str = ""

    def links(self, name: str) -> tuple[str, ...]:
        """Where `systemctl enable` lays links to the unit file, below the administrator's directory."""
        prefix, instance, suffix = split_instance(name)
        if instance == "" and self.default_instance:
            name = f"{prefix}@{self.default_instance}.{suffix}"
        folders = (f"{_fill(unit, name)}.{folder}/{name}" for unit, folder in self.pulled_in_by)
        return tuple(f"{ADMIN_UNITS}/{entry}" for entry in (*folders, *self.aliases(name)))

    def aliases(self, name: str) -> tuple[str, ...]:
        return tuple(_fill(alias, name) for alias in self.alias)


def parse_install(text: str) -> Install:
    """Read the section of a unit file; an empty value clears what stood before, as systemd has it."""
    found: dict[str, list[str]] = {key: [] for key in (*_FOLDERS, "Alias", "Also", "DefaultInstance")}
    section = ""
    for line in text.replace("\\\n", " ").splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line
        elif section == "[Install]" and not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            if (words := found.get(key.strip())) is not None:
                words[:] = [*words, *value.split()] if value.strip() else []
    return Install(
        pulled_in_by=tuple((unit, folder) for key, folder in _FOLDERS.items() for unit in found[key]),
        alias=tuple(found["Alias"]),
        also=tuple(found["Also"]),
        default_instance=found["DefaultInstance"][-1] if found["DefaultInstance"] else "",
    )


def split_instance(name: str) -> tuple[str, str | None, str]:
    """Prefix, instance (None: the unit has no instances, empty: it is the template itself) and suffix."""
    stem, _, suffix = name.rpartition(".")
    prefix, at, instance = stem.partition("@")
    return prefix, instance if at else None, suffix


def template_of(name: str) -> str:
    """The file that an instance comes from: getty@tty1.service from getty@.service; else the name itself."""
    prefix, instance, suffix = split_instance(name)
    return name if instance is None else f"{prefix}@.{suffix}"


def _fill(text: str, name: str) -> str:
    """The specifiers that an [Install] section may hold."""
    prefix, instance, _ = split_instance(name)
    return text.replace("%i", instance or "").replace("%p", prefix).replace("%n", name)
