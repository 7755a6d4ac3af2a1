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


@dataclass(frozen=True, kw_only=True, slots=True)
class Install:
    """The [Install] section."""

    wanted_by: tuple[str, ...] = ()
    required_by: tuple[str, ...] = ()
    alias: tuple[str, ...] = ()

    def links(self, name: str) -> tuple[str, ...]:
        """Where `systemctl enable` lays links to the unit file, below the administrator's directory."""
        return (
            *(f"{ADMIN_UNITS}/{target}.wants/{name}" for target in self.wanted_by),
            *(f"{ADMIN_UNITS}/{target}.requires/{name}" for target in self.required_by),
            *(f"{ADMIN_UNITS}/{alias}" for alias in self.alias),
        )


def parse_install(text: str) -> Install:
    """Read the section of a unit file; an empty value clears what stood before, as systemd has it."""
    found: dict[str, list[str]] = {"WantedBy": [], "RequiredBy": [], "Alias": []}
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
        wanted_by=tuple(found["WantedBy"]),
        required_by=tuple(found["RequiredBy"]),
        alias=tuple(found["Alias"]),
    )


def template_of(name: str) -> str:
    """The file that an instance comes from: getty@tty1.service from getty@.service; else the name itself."""
    prefix, at, rest = name.partition("@")
    return f"{prefix}@.{rest.rpartition('.')[2]}" if at else name
