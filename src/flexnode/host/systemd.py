"""The systemd of the machine that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from flexnode.errors import CommandError, HostError
from flexnode.host.command import Command, Completed, run
from flexnode.host.door import Enablement, UnitInfo
from flexnode.host.failures import Code, failure

_PROPERTIES = ("LoadState", "ActiveState", "UnitFileState", "InvocationID", "NeedDaemonReload", "NRestarts")
_PATIENCE = 300.0
"""Seconds for a start or a stop: units have limits of their own, this one is for a systemd that hangs."""

_ENABLEMENT = {
    "enabled": Enablement.ENABLED,
    "alias": Enablement.ENABLED,
    "enabled-runtime": Enablement.DISABLED,  # gone after the next boot
    "disabled": Enablement.DISABLED,
    "linked": Enablement.DISABLED,
    "linked-runtime": Enablement.DISABLED,
    "indirect": Enablement.DISABLED,
    "masked": Enablement.MASKED,
    "masked-runtime": Enablement.MASKED,
    "static": Enablement.STATIC,
    "generated": Enablement.STATIC,
    "transient": Enablement.STATIC,
}
_ACTIVE = frozenset({"active", "reloading", "refreshing"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Systemd:
    """Every question and every order is one call of systemctl."""

    run: Callable[[Command], Completed] = run

    def find(self, name: str) -> UnitInfo:
        return self.find_all((name,))[name]

    def find_all(self, names: Iterable[str]) -> Mapping[str, UnitInfo]:
        wanted = tuple(dict.fromkeys(names))
        if not wanted:
            return {}
        properties = ",".join(_PROPERTIES)
        command = Command(argv=("systemctl", "show", "--no-pager", f"--property={properties}", "--", *wanted))
        answers = parse_show(self._ask(command, "show", *wanted).text)
        if len(answers) != len(wanted):
            raise failure(
                Code.UNIT_ANSWER,
                f"systemctl described {len(answers)} units of {len(wanted)}: {' '.join(wanted)}",
            )
        return dict(zip(wanted, answers, strict=True))

    def reload_manager(self) -> None:
        self._tell("daemon-reload")

    def enable(self, name: str) -> None:
        self._tell("enable", name)

    def disable(self, name: str) -> None:
        self._tell("disable", name)

    def mask(self, name: str) -> None:
        self._tell("mask", name)

    def unmask(self, name: str) -> None:
        self._tell("unmask", name)

    def start(self, name: str) -> None:
        self._forget_failures(name)
        self._tell("start", name)

    def stop(self, name: str) -> None:
        try:
            self._tell("stop", name)
        except HostError as error:
            if error.code != Code.UNIT_MISSING:
                raise
        self._forget_failures(name)

    def restart(self, name: str) -> None:
        self._forget_failures(name)
        self._tell("restart", name)

    def reload(self, name: str) -> None:
        self._tell("reload", name)

    def reboot(self) -> None:
        self._tell("reboot")

    def _tell(self, verb: str, *names: str) -> None:
        argv = ("systemctl", "--quiet", "--no-ask-password", verb, *names)
        self._ask(Command(argv=argv, timeout=_PATIENCE), verb, *names)

    def _ask(self, command: Command, verb: str, *names: str) -> Completed:
        try:
            return self.run(command)
        except CommandError as error:
            if error.code != "host/command-failed":
                raise
            raise translate_refusal(error.message, verb, *names) from error

    def _forget_failures(self, name: str) -> None:
        """One that failed too often would not be started again, and one that failed stays so when stopped."""
        argv = ("systemctl", "--quiet", "reset-failed", name)
        self.run(Command(argv=argv, expect=(0, 1, 4, 5)))  # not loaded: nothing to forget


def parse_show(text: str) -> tuple[UnitInfo, ...]:
    """The answer of `systemctl show`: a paragraph for each unit, in the order in which they were named."""
    return tuple(_parse_unit(paragraph) for paragraph in text.split("\n\n") if paragraph.strip())


def _parse_unit(paragraph: str) -> UnitInfo:
    found = dict(line.partition("=")[::2] for line in paragraph.splitlines())
    if found.get("LoadState") == "masked":
        enablement = Enablement.MASKED
    else:
        enablement = _ENABLEMENT.get(found.get("UnitFileState", ""), Enablement.ABSENT)
    restarts = found.get("NRestarts", "")
    return UnitInfo(
        enablement=enablement,
        active=found.get("ActiveState") in _ACTIVE,
        failed=found.get("ActiveState") == "failed",
        invocation=found.get("InvocationID", ""),
        needs_reload=found.get("NeedDaemonReload") == "yes",
        restarts=int(restarts) if restarts.isdecimal() else 0,
    )


def translate_refusal(words: str, verb: str, *names: str) -> HostError:
    """What systemctl said, by the words that it has had for years."""
    name = " ".join(names) or "systemd"
    if "connect to bus" in words or "Connection timed out" in words or "Connection reset" in words:
        return failure(Code.SYSTEMD_DOWN, f"cannot {verb} {name}: systemd does not answer")
    if "is masked" in words:
        return failure(
            Code.UNIT_MASKED, f"cannot {verb} {name}: it is masked", hint=f"systemctl unmask {name}"
        )
    if "not found" in words or "not loaded" in words or "does not exist" in words:
        return failure(Code.UNIT_MISSING, f"there is no unit {name}")
    if "already exists" in words:
        return failure(Code.UNIT_IN_THE_WAY, f"cannot {verb} {name}: {words.rpartition(': ')[2]}")
    if "Read-only file system" in words:
        return failure(Code.READ_ONLY, f"cannot {verb} {name}: {words.rpartition(': ')[2].lower()}")
    said = words.partition(" exited with ")[2].partition(": ")[2] or words
    hint = f"systemctl status {name}; journalctl -u {name}" if names else "journalctl -b _PID=1"
    return failure(Code.UNIT_FAILED, f"systemctl {verb} {name} failed: {said.splitlines()[0]}", hint=hint)
