"""Start, stop and wait for the control plane, or for one of its components."""

from __future__ import annotations

from flexlab import process
from flexlab.control_plane.services import compose_services
from flexlab.errors import LabError
from flexlab.lab import Lab
from flexlab.model import API_PORT
from flexlab.parts import Parts
from flexlab.process import Daemon, Place
from flexnode.clock import Clock
from flexnode.errors import UsageError

STORE, API_SERVER = "etcd", "kube-apiserver"
COMPONENTS = (STORE, API_SERVER, "kube-controller-manager", "kube-scheduler", "cloud-controller")


def start(lab: Lab, parts: Parts, clock: Clock, only: tuple[str, ...] = COMPONENTS) -> float:
    """Start those of the components that do not run; the seconds until the API server was ready.

    Its clients start after that: the controller manager ends at once when its rights are not there yet.
    """
    place = lab.require_place()
    wanted = require_components(only)
    seconds = 0.0
    for service in compose_services(lab, parts):
        if service.name not in wanted:
            continue
        if not process.find(lab.folder, service.name):
            process.start(place, service)
        if service.name == API_SERVER and process.find(lab.folder, STORE):
            seconds = wait_until_ready(lab, clock)
    return seconds


def stop(lab: Lab, only: tuple[str, ...] = COMPONENTS) -> list[Daemon]:
    """Stop components, clients before the API server and etcd last; says which ran."""
    require_components(only)
    running = []
    for name in reversed(COMPONENTS):
        if name in only:
            daemons = process.find(lab.folder, name)
            process.stop(daemons, timeout=20)
            running += daemons
    return running


def wait_until_ready(lab: Lab, clock: Clock, *, timeout: float = 60) -> float:
    """Wait for `/readyz`; the seconds that it took."""
    place = lab.require_place()
    begin = clock.monotonic()
    while not is_ready(lab, place):
        for name in (STORE, API_SERVER):
            if not process.find(lab.folder, name):
                raise LabError(
                    f"{name} of lab {lab.name} ended by itself: {_last_words(lab, name)}",
                    code="lab/component-ended",
                    hint=f"see {lab.log(name)}",
                )
        if clock.monotonic() - begin > timeout:
            raise LabError(
                f"the API server of lab {lab.name} is not ready after {timeout:g} s",
                code="lab/api-not-ready",
                transient=True,
                hint=f"see {lab.log('kube-apiserver')}",
            )
        clock.sleep(0.1)
    return clock.monotonic() - begin


def is_ready(lab: Lab, place: Place) -> bool:
    """Whether the API server says so itself."""
    probe = process.run(
        place,
        (
            "curl",
            "--silent",
            "--fail",
            "--max-time",
            "5",
            "--cacert",
            str(lab.pki / "ca.crt"),
            f"https://localhost:{API_PORT}/readyz",
        ),
        expect=(0, 7, 22, 28, 35, 52, 56),
    )
    return probe.returncode == 0


def require_components(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in COMPONENTS:
            raise UsageError(
                f"there is no control plane component {name}",
                code="lab/no-such-component",
                hint=f"there are: {', '.join(COMPONENTS)}",
            )
    return names


def _last_words(lab: Lab, name: str) -> str:
    try:
        return lab.log(name).read_text(errors="replace").strip()[-400:]
    except FileNotFoundError:
        return "it wrote nothing"
