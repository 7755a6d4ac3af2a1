"""What is wrong between this machine and its cluster is told apart: the way, the CA, the token, the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from flexnode.artifacts import load_proxies
from flexnode.clock import FakeClock
from flexnode.flows.preflight import Level, Ours, preflight
from flexnode.flows.preflight.situation import Reached, RemoteNode
from flexnode.kube import Code
from flexnode.model.credentials import Credentials
from flexnode.model.machine import MachineSpec, RegistryMirror, RuntimeSpec
from flexnode.model.spec import ArtifactsSpec, IdentitySpec, KubeletSpec, ServingCertificates
from unit.flows.preflight.samples import (
    FACTS,
    SPEC,
    UUID,
    Case,
    FakeCluster,
    check_named,
    findings,
    knows,
    refused,
    situation,
)

OTHER_UUID = "00000000-1111-2222-3333-444444444444"

REMOTE = (
    "clock-skew",
    "node-name",
    "api-server",
    "ca",
    "token",
    "version-skew",
    "kube-proxy",
    "serving-approver",
)


def cluster(**answers: Any) -> dict[str, Any]:
    return {"cluster": FakeCluster(**answers)}


def offset(seconds: float) -> dict[str, Any]:
    return cluster(reached=Reached(clock_offset=timedelta(seconds=seconds)))


def serving(wish: ServingCertificates, approver: bool | None) -> dict[str, Any]:
    spec = replace(SPEC, kubelet=KubeletSpec(serving_certificates=wish))
    return {"spec": spec, **cluster(approver=approver)}


def behind_proxy(no_proxy: str = "", **changes: Any) -> dict[str, Any]:
    environ = {"https_proxy": "http://proxy.example:3128", "no_proxy": no_proxy}
    return {"proxies": load_proxies(environ), **changes}


CASES = [
    Case(
        about="nobody answers",
        check="api-server",
        level=Level.ERROR,
        code="kube/unreachable",
        hint="route, firewall, proxy",
        transient=True,
        changes=cluster(reached=refused(Code.UNREACHABLE)),
    ),
    Case(
        about="a login page answers",
        check="api-server",
        level=Level.ERROR,
        code="kube/bad-response",
        hint="sign in to the network",
        changes=cluster(reached=refused(Code.BAD_RESPONSE)),
    ),
    Case(
        about="it is still starting",
        check="api-server",
        level=Level.ERROR,
        code="kube/server-error",
        hint="/readyz",
        transient=True,
        changes=cluster(reached=Reached(ready=False)),
    ),
    Case(
        about="it answers, and its certificate is judged elsewhere",
        check="api-server",
        level=Level.OK,
        changes=cluster(reached=refused(Code.TLS_UNTRUSTED)),
    ),
    Case(
        about="nobody is asked where nothing proves who answers",
        check="api-server",
        level=Level.SKIPPED,
        says="see ca",
        changes=cluster(reached=refused(Code.CA_UNVERIFIED)),
    ),
    Case(
        about="another authority",
        check="ca",
        level=Level.ERROR,
        code="kube/tls-untrusted",
        hint="its administrator",
        changes=cluster(reached=refused(Code.TLS_UNTRUSTED)),
    ),
    Case(
        about="a CA that does not have the pinned hash",
        check="ca",
        level=Level.ERROR,
        code="kube/ca-unverified",
        hint="CA hashes",
        changes=cluster(reached=refused(Code.CA_UNVERIFIED)),
    ),
    Case(
        about="nobody answers",
        check="ca",
        level=Level.SKIPPED,
        says="api-server",
        changes=cluster(reached=refused(Code.TIMEOUT)),
    ),
    Case(
        about="a CA that only a token could vouch for",
        check="ca",
        level=Level.SKIPPED,
        says="see token",
        changes=cluster(reached=refused(Code.TOKEN_UNKNOWN)),
    ),
    Case(
        about="expired or mistyped",
        check="token",
        level=Level.ERROR,
        code="kube/unauthorized",
        hint="aks-flex-node cluster token",
        changes=cluster(accepts=refused(Code.UNAUTHORIZED)),
    ),
    Case(
        about="unknown to the cluster's own signature",
        check="token",
        level=Level.ERROR,
        code="kube/token-unknown",
        hint="aks-flex-node cluster token",
        changes=cluster(accepts=refused(Code.TOKEN_UNKNOWN)),
    ),
    Case(
        about="accepted, though it may do nothing",
        check="token",
        level=Level.OK,
        changes=cluster(accepts=refused(Code.FORBIDDEN)),
    ),
    Case(
        about="never shown to a server that is not trusted",
        check="token",
        level=Level.SKIPPED,
        says="see ca",
        changes=cluster(accepts=refused(Code.TLS_UNTRUSTED)),
    ),
    Case(
        about="none in the configuration",
        check="token",
        level=Level.SKIPPED,
        changes={"spec": replace(SPEC, credentials=Credentials())},
    ),
    Case(
        about="a joined node needs none",
        check="token",
        level=Level.OK,
        says="the node's own certificate",
        changes={
            "spec": replace(SPEC, credentials=Credentials()),
            "ours": Ours(joined=True, certificate=True),
        },
    ),
    Case(about="a few seconds", check="clock-skew", level=Level.OK, changes=offset(-8)),
    Case(
        about="half a minute ahead",
        check="clock-skew",
        level=Level.WARNING,
        code="preflight/clock-skew",
        says="30 s ahead of",
        hint="chrony",
        changes=offset(30),
    ),
    Case(
        about="a day behind",
        check="clock-skew",
        level=Level.ERROR,
        code="kube/clock",
        says="86400 s behind",
        hint="time server",
        transient=True,
        changes=offset(-86400),
    ),
    Case(
        about="so far off that no certificate is valid",
        check="clock-skew",
        level=Level.ERROR,
        code="kube/clock",
        hint="timedatectl",
        transient=True,
        changes=cluster(reached=refused(Code.CLOCK)),
    ),
    Case(
        about="the server tells no time",
        check="clock-skew",
        level=Level.SKIPPED,
        changes=cluster(reached=Reached()),
    ),
    Case(
        about="taken by another machine",
        check="node-name",
        level=Level.ERROR,
        code="preflight/node-name-taken",
        says=OTHER_UUID,
        hint="kubectl delete node node-1",
        changes=cluster(node=RemoteNode(name="node-1", system_uuid=OTHER_UUID)),
    ),
    Case(
        about="its own, whatever case the firmware writes",
        check="node-name",
        level=Level.OK,
        says="is this machine",
        changes=cluster(node=RemoteNode(name="node-1", system_uuid=UUID.upper())),
    ),
    Case(
        about="made beforehand, and nobody's yet",
        check="node-name",
        level=Level.OK,
        says="no machine has it yet",
        changes=cluster(node=RemoteNode(name="node-1")),
    ),
    Case(
        about="taken, and this machine has no UUID to compare",
        check="node-name",
        level=Level.WARNING,
        code="preflight/node-name-unclear",
        hint="kubectl describe node node-1",
        changes={
            "facts": replace(FACTS, system_uuid=""),
            **cluster(node=RemoteNode(name="node-1", system_uuid=OTHER_UUID)),
        },
    ),
    Case(
        about="a token that may not look",
        check="node-name",
        level=Level.WARNING,
        code="preflight/node-name-unknown",
        hint="aks-flex-node cluster setup",
        changes=cluster(node=refused(Code.FORBIDDEN)),
    ),
    Case(
        about="nobody answers",
        check="node-name",
        level=Level.SKIPPED,
        says="api-server",
        changes=cluster(node=refused(Code.UNREACHABLE)),
    ),
    Case(
        about="a token that is not accepted is the other check's business",
        check="node-name",
        level=Level.SKIPPED,
        says="token",
        changes=cluster(node=refused(Code.UNAUTHORIZED)),
    ),
    Case(
        about="configured, and no name",
        check="node-name",
        level=Level.ERROR,
        code="preflight/node-name-invalid",
        hint="node.name",
        changes={"spec": replace(SPEC, identity=IdentitySpec(name="edge_box"))},
    ),
    *(
        Case(
            about=f"API server {version}",
            check="version-skew",
            level=level,
            code=code,
            hint=hint,
            changes=cluster(answers_version=version),
        )
        for version, level, code, hint in (
            ("v1.35.0", Level.OK, "", ""),
            ("v1.36.1", Level.OK, "", ""),
            ("v1.38.0-rc.1+x", Level.OK, "", ""),
            ("v1.34.9", Level.ERROR, "preflight/kubelet-too-new", "versions.kubernetes to 1.34"),
            ("v1.39.0", Level.ERROR, "preflight/kubelet-too-old", "versions.kubernetes to 1.39"),
            ("v2.35.0", Level.ERROR, "preflight/kubelet-too-old", "versions.kubernetes to 2.35"),
            ("one.two", Level.WARNING, "preflight/version-unknown", "versions.kubernetes"),
        )
    ),
    Case(
        about="nobody answers",
        check="version-skew",
        level=Level.SKIPPED,
        changes=cluster(answers_version=refused(Code.TIMEOUT)),
    ),
    Case(
        about="a cluster without",
        check="kube-proxy",
        level=Level.WARNING,
        code="preflight/no-kube-proxy",
        hint="DaemonSet",
        changes=cluster(kube_proxy=False),
    ),
    Case(
        about="a cluster that does not say",
        check="kube-proxy",
        level=Level.SKIPPED,
        says="cluster setup",
        changes=cluster(kube_proxy=None),
    ),
    Case(
        about="asked for, and nobody approves",
        check="serving-approver",
        level=Level.WARNING,
        code="preflight/no-serving-approver",
        hint="cluster approve",
        changes=serving(ServingCertificates.ON, False),
    ),
    Case(
        about="asked for, and a node may not see whether anybody approves",
        check="serving-approver",
        level=Level.SKIPPED,
        changes=serving(ServingCertificates.ON, None),
    ),
    Case(
        about="left open, and somebody approves",
        check="serving-approver",
        level=Level.OK,
        says="somebody approves kubelets' serving certificates: so it looks",
        changes=serving(ServingCertificates.AUTO, True),
    ),
    Case(
        about="left open, and nobody approves",
        check="serving-approver",
        level=Level.OK,
        says="signs its own: so it looks",
        changes=serving(ServingCertificates.AUTO, None),
    ),
    Case(
        about="not wanted",
        check="serving-approver",
        level=Level.OK,
        changes=serving(ServingCertificates.OFF, False),
    ),
    Case(
        about="a name that does not exist",
        check="dns",
        level=Level.ERROR,
        code="preflight/dns-unknown-name",
        says="api.cluster.example (the API server)",
        hint="spelling",
        changes={"resolve": knows("api.cluster.example")},
    ),
    Case(
        about="name servers that do not answer",
        check="dns",
        level=Level.ERROR,
        code="preflight/dns-no-answer",
        hint="resolvectl status",
        transient=True,
        changes={"resolve": knows(silent=True)},
    ),
    Case(
        about="the vendor's, and the store lacks something",
        check="dns",
        level=Level.ERROR,
        code="preflight/dns-unknown-name",
        says="releases.example (a vendor's release site)",
        hint="spelling",
        changes={"resolve": knows("releases.example")},
    ),
    Case(
        about="the vendor's, and everything is in the store",
        check="dns",
        level=Level.OK,
        says="api.cluster.example",
        changes={"resolve": knows("releases.example"), "missing": tuple},
    ),
    Case(
        about="only addresses",
        check="dns",
        level=Level.OK,
        says="by its address",
        changes={
            "resolve": knows(silent=True),
            "spec": replace(
                SPEC,
                cluster=replace(SPEC.cluster, server="https://[2001:db8::1]:6443"),
                artifacts=ArtifactsSpec(sources=("/srv/node.bundle",)),
            ),
        },
    ),
    Case(
        about="a proxy looks up the others",
        check="dns",
        level=Level.OK,
        says="proxy.example",
        changes=behind_proxy(resolve=knows("api.cluster.example", "releases.example")),
    ),
    Case(
        about="the proxy itself",
        check="dns",
        level=Level.ERROR,
        code="preflight/dns-unknown-name",
        says="proxy.example (the proxy)",
        hint="spelling",
        changes=behind_proxy(resolve=knows("proxy.example")),
    ),
    *(
        Case(
            about=f"the name in {source}",
            check="dns",
            level=Level.ERROR,
            code="preflight/dns-unknown-name",
            says="files.example (a source of artifacts)",
            hint="spelling",
            changes={
                "spec": replace(SPEC, artifacts=ArtifactsSpec(sources=(source,))),
                "resolve": knows("files.example"),
            },
        )
        for source in (
            "https://user:pass@files.example/x",
            "oci://files.example:5000/node",
            "http://files.example",
        )
    ),
    Case(
        about="a mirror of images, behind which the registry itself is asked",
        check="dns",
        level=Level.WARNING,
        code="preflight/dns-unknown-mirror",
        says="images.example (a mirror of docker.io)",
        hint="spelling",
        changes={
            "spec": replace(
                SPEC,
                machine=MachineSpec(
                    runtime=RuntimeSpec(
                        registries=(
                            RegistryMirror(registry="docker.io", endpoints=("https://images.example",)),
                        )
                    )
                ),
            ),
            "resolve": knows("images.example"),
        },
    ),
    Case(
        about="a mirror of images on a machine without name servers",
        check="dns",
        level=Level.WARNING,
        code="preflight/dns-no-answer",
        says="images.example (a mirror of docker.io)",
        changes={
            "resolve": knows(silent=True),
            "spec": replace(
                SPEC,
                cluster=replace(SPEC.cluster, server="https://192.0.2.10:6443"),
                artifacts=ArtifactsSpec(sources=("/srv/node.bundle",)),
                machine=MachineSpec(
                    runtime=RuntimeSpec(
                        registries=(
                            RegistryMirror(registry="docker.io", endpoints=("https://images.example",)),
                        )
                    )
                ),
            ),
        },
    ),
    Case(
        about="a source on a machine without name servers",
        check="dns",
        level=Level.ERROR,
        code="preflight/dns-no-answer",
        says="files.example (a source of artifacts)",
        hint="aks-flex-node artifacts bundle FILE --kubernetes 1.35.4 --arch amd64 --suite bookworm",
        transient=True,
        changes={
            "resolve": knows(silent=True),
            "spec": replace(
                SPEC,
                cluster=replace(SPEC.cluster, server="https://192.0.2.10:6443"),
                artifacts=ArtifactsSpec(sources=("https://files.example",)),
            ),
        },
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_cluster(case: Case) -> None:
    case.hold()


@pytest.mark.parametrize("name", REMOTE)
def test_a_configuration_without_a_cluster_is_not_held_against_the_machine(name: str) -> None:
    (finding,) = findings(name, situation(cluster=None))
    assert finding.level is Level.SKIPPED


def test_a_resolver_that_has_just_started_is_asked_again() -> None:
    """A machine that is booting would otherwise be told that its cluster does not exist."""
    asked: list[str] = []
    unknown, known = knows("api.cluster.example"), knows()

    def resolve(host: str) -> Sequence[str]:
        asked.append(host)
        return (unknown if asked.count(host) < 3 else known)(host)

    clock = FakeClock()
    (finding,) = findings("dns", situation(resolve=resolve, clock=clock))
    assert finding.level is Level.OK
    assert clock.slept == [1.0, 2.0]


def test_an_api_server_that_is_down_is_one_error_and_not_eight() -> None:
    """A report that repeats one fault eight times hides the others."""
    down = refused(Code.UNREACHABLE)
    answers = FakeCluster(down, down, down, down, down, down)
    report = preflight(situation(cluster=answers), checks=[check_named(name) for name in REMOTE])
    assert [finding.name for finding in report.at(Level.ERROR)] == ["api-server"]
    assert report.transient


@pytest.mark.parametrize("code", [Code.TLS_UNTRUSTED, Code.UNAUTHORIZED, Code.CLOCK])
def test_a_fault_of_one_kind_is_told_by_the_one_check_that_is_about_it(code: Code) -> None:
    told_by = {Code.TLS_UNTRUSTED: "ca", Code.UNAUTHORIZED: "token", Code.CLOCK: "clock-skew"}
    fault = refused(code)
    reached = Reached(clock_offset=timedelta()) if code is Code.UNAUTHORIZED else fault
    answers = FakeCluster(reached, fault, fault, fault, fault, fault)
    report = preflight(situation(cluster=answers), checks=[check_named(name) for name in REMOTE])
    assert [finding.name for finding in report.at(Level.ERROR)] == [told_by[code]]
