"""A file that no source has, and packages that would cost others, are known before anything is touched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from flexnode.artifacts import Code
from flexnode.errors import CatalogError
from flexnode.flows.preflight import Level
from flexnode.flows.preflight.situation import Answer, Sought
from flexnode.host.fake import FakeHost
from unit.flows.preflight.samples import (
    CONTAINERD,
    KUBELET,
    PARTS,
    Case,
    artifact,
    host_spec,
    no_file,
    run_process,
    searched,
)

MIRROR = "https://mirror.example/node"


def having(*answers: Answer) -> dict[str, Any]:
    """One needed file, and what the sources say about it."""
    return {
        "search": searched(
            Sought(artifact=KUBELET, answers=answers), Sought(artifact=CONTAINERD, stored=True)
        )
    }


def refusing(code: Code, source: str = MIRROR) -> Answer:
    return Answer(source=source, error=no_file(code))


def installing(**changes: Any) -> Any:
    def change(host: FakeHost) -> None:
        for name, value in changes.items():
            setattr(host.packages, name, value)

    return change


def apt_running(host: FakeHost) -> None:
    run_process(host, 4711, "unattended-upgr", "/usr/bin/python3", opened="/var/lib/dpkg/lock-frontend")


def half_installed(host: FakeHost) -> None:
    host.files.place(
        "/var/lib/dpkg/status",
        "Package: dpkg\nStatus: install ok installed\n\n"
        "Package: socat\nStatus: install ok half-configured\nArchitecture: amd64\n\n"
        "Package: gone\nStatus: deinstall ok config-files\n",
    )


CASES = [
    Case(
        about="a version that nobody knows",
        check="catalog",
        level=Level.ERROR,
        code="catalog/unknown-kubernetes",
        says="there is no release set",
        hint="known minor versions: 1.35",
        changes={
            "parts": None,
            "no_parts": CatalogError(
                "there is no release set for Kubernetes 1.99",
                code="catalog/unknown-kubernetes",
                hint="known minor versions: 1.35",
            ),
        },
    ),
    Case(
        about="at no source",
        check="artifacts",
        level=Level.ERROR,
        code="artifact/not-found",
        says=f"kubelet 1.35.4 (amd64) is nowhere: {MIRROR}: so the source says; vendor:",
        hint="artifacts mirror",
        changes=having(refusing(Code.NOT_FOUND), refusing(Code.NOT_FOUND, "vendor")),
    ),
    Case(
        about="at no source, one of which may have it later",
        check="artifacts",
        level=Level.ERROR,
        code="artifact/throttled",
        hint="patience",
        transient=True,
        changes=having(refusing(Code.NOT_FOUND), refusing(Code.THROTTLED, "vendor")),
    ),
    Case(
        about="behind a login page",
        check="artifacts",
        level=Level.ERROR,
        code="artifact/intercepted",
        hint="sign in to the network",
        changes=having(refusing(Code.INTERCEPTED)),
    ),
    Case(
        about="offered by no source",
        check="artifacts",
        level=Level.ERROR,
        code="artifact/no-source",
        hint="artifacts.sources",
        changes=having(),
    ),
    Case(
        about="at no source, and not needed",
        check="artifacts",
        level=Level.WARNING,
        code="artifact/left-out",
        says="a node works without it",
        hint="artifacts mirror",
        changes={
            "search": searched(
                Sought(artifact=KUBELET, optional=True, answers=(refusing(Code.NOT_FOUND),)),
                Sought(artifact=CONTAINERD, stored=True),
            )
        },
    ),
    Case(
        about="the second source has it",
        check="artifacts",
        level=Level.OK,
        says="1 file to fetch, 70.0 MB; 1 in the store already",
        changes=having(refusing(Code.NOT_FOUND), Answer(source="vendor", size=70_000_000)),
    ),
    Case(
        about="of a size that nobody tells",
        check="artifacts",
        level=Level.OK,
        says="of unknown size",
        changes={
            "search": searched(
                Sought(artifact=artifact("kubelet", size=None), answers=(Answer(source=MIRROR),))
            )
        },
    ),
    Case(
        about="all in the store, whatever the sources are",
        check="artifacts",
        level=Level.OK,
        says="in the store already",
        changes={"search": searched(Sought(artifact=KUBELET, stored=True))},
    ),
    Case(
        about="all in the store, so nobody need answer",
        check="artifact-sources",
        level=Level.OK,
        changes={"search": searched(Sought(artifact=KUBELET, stored=True))},
    ),
    Case(
        about="the only one is down",
        check="artifact-sources",
        level=Level.ERROR,
        code="artifact/connect-failed",
        says=MIRROR,
        hint="where no source is reached, run `aks-flex-node artifacts bundle FILE",
        transient=True,
        changes=having(refusing(Code.CONNECT_FAILED)),
    ),
    Case(
        about="one is down, and another has everything",
        check="artifact-sources",
        level=Level.WARNING,
        code="artifact/connect-failed",
        says=MIRROR,
        hint="route, firewall, proxy",
        changes=having(refusing(Code.CONNECT_FAILED), Answer(source="vendor", size=1)),
    ),
    Case(
        about="one whose certificate is not trusted",
        check="artifact-sources",
        level=Level.ERROR,
        code="artifact/untrusted-tls",
        hint="authority",
        changes=having(refusing(Code.UNTRUSTED_TLS)),
    ),
    Case(
        about="one that answers, and lacks a file",
        check="artifact-sources",
        level=Level.OK,
        says=f"{MIRROR} answers",
        changes=having(refusing(Code.NOT_FOUND)),
    ),
    *(
        Case(about="no version is chosen", check=check, level=Level.SKIPPED, changes={"search": None})
        for check in ("artifacts", "artifact-sources")
    ),
    Case(
        about="would upgrade others",
        check="packages",
        level=Level.ERROR,
        code="package/would-upgrade",
        says="would upgrade libc6",
        hint="apt-get install conntrack socat",
        host=installing(upgrades={"socat": ("libc6",)}),
    ),
    Case(
        about="would remove others",
        check="packages",
        level=Level.ERROR,
        code="package/would-remove",
        says="would remove ebtables",
        hint="host.supportTools: false",
        host=installing(removes={"socat": ("ebtables",)}),
    ),
    Case(
        about="unknown to apt",
        check="packages",
        level=Level.WARNING,
        code="package/unknown",
        says="conntrack",
        hint="apt-get update",
        host=installing(archive={}),
    ),
    Case(
        about="without an archive",
        check="packages",
        level=Level.WARNING,
        code="package/unknown",
        hint="aks-flex-node artifacts bundle FILE --kubernetes 1.35.4 --arch amd64 --suite bookworm",
        host=installing(archive={}),
    ),
    Case(
        about="in a bundle",
        check="packages",
        level=Level.OK,
        says="2 will be installed from files of artifacts.sources",
        host=installing(archive={}, reachable=False),
        changes={"parts": replace(PARTS, debs=(artifact("conntrack"), artifact("socat")))},
    ),
    Case(
        about="there already",
        check="packages",
        level=Level.OK,
        says="all there",
        host=lambda host: host.packages.present.update(("conntrack", "socat")),
    ),
    Case(
        about="not wanted",
        check="packages",
        level=Level.SKIPPED,
        changes={"spec": host_spec(support_tools=False)},
    ),
    Case(
        about="busy",
        check="dpkg",
        level=Level.WARNING,
        code="package/locked",
        says="unattended-upgr (process 4711)",
        hint="ps -f 4711",
        host=apt_running,
    ),
    Case(
        about="interrupted between unpacking and configuring",
        check="dpkg",
        level=Level.WARNING,
        code="package/half-configured",
        says="socat half-way installed",
        hint="dpkg --configure -a",
        host=half_installed,
    ),
    Case(
        about="killed while it wrote",
        check="dpkg",
        level=Level.WARNING,
        code="package/half-configured",
        says="an interrupted run of dpkg",
        hint="dpkg --configure -a",
        host=lambda host: host.files.place("/var/lib/dpkg/updates/0001", "Package: socat\n"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_supplies(case: Case) -> None:
    case.hold()
