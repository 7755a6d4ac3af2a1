"""The `cluster` verbs from command line to wire: a real HTTPS server with a cluster in memory behind it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml
from cryptography import x509

from flexnode.cli.ending import run
from flexnode.cli.root import root
from flexnode.clock import SystemClock
from flexnode.errors import KubeError
from flexnode.kube import Content, Request
from flexnode.kube.certificates import CSRS, CsrState, find_csr
from flexnode.kube.facts import SYSTEM
from flexnode.kube.fake import FakeCluster
from flexnode.kube.manifests import compose_setup
from flexnode.kube.nodes import NODES
from flexnode.kube.tokens import SECRETS, list_tokens
from unit.kube import samples
from unit.kube.api_server import ApiServer, Reply, Seen, refusal, serve

STATUS = {
    "kube/not-found": (404, ""),
    "kube/already-exists": (409, "AlreadyExists"),
    "kube/forbidden": (403, ""),
}


@dataclass(frozen=True, kw_only=True)
class Shell:
    """A cluster behind a server, and a command line that has its kubeconfig."""

    cluster: FakeCluster
    server: ApiServer
    kubeconfig: Path
    capture: pytest.CaptureFixture[str]
    notes: list[str] = field(default_factory=list)
    """What each run wrote to standard error."""

    def __call__(self, *words: str, code: int = 0) -> str:
        """Run `cluster WORDS`; its standard output."""
        arguments = ["cluster", *words]
        if "--dry-run" not in words:
            arguments += ["--kubeconfig", str(self.kubeconfig)]
        self.capture.readouterr()
        found = run(root, "aks-flex-node", arguments)
        said = self.capture.readouterr()
        self.notes.append(said.err)
        assert found == code, said.err
        return said.out


def fronting(cluster: FakeCluster) -> Callable[[Seen], Reply]:
    def answer(seen: Seen) -> Reply:
        parts = urlsplit(seen.path)
        content = seen.headers.get("Content-Type")
        request = Request(
            method=seen.method,
            path=parts.path,
            query=tuple(parse_qsl(parts.query)),
            body=seen.body or None,
            content=Content(content) if content else Content.JSON,
        )
        try:
            if "watch" in dict(request.query):
                with cluster.stream(request) as lines:
                    return Reply(body=b"\n".join(lines), delay=0.05)
            return Reply(body=cluster.send(request), headers={"Content-Type": "application/json"})
        except KubeError as error:
            status, reason = STATUS[error.code]
            return refusal(status, error.message, reason=reason)

    return answer


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    cluster = FakeCluster(clock=SystemClock())
    cluster.put(f"{NODES}/edge1", samples.node())
    cluster.put(f"{SYSTEM}/services/kube-dns", {"spec": {"clusterIP": "10.96.0.10"}})
    with serve(fronting(cluster)) as server:
        (tmp_path / "ca.crt").write_text(server.ca)
        document = {
            "clusters": [{"name": "c", "cluster": {"server": server.url, "certificate-authority": "ca.crt"}}],
            "users": [{"name": "u", "user": {"token": "admin-token"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        kubeconfig = tmp_path / "config"
        kubeconfig.write_text(yaml.safe_dump(document))
        yield Shell(cluster=cluster, server=server, kubeconfig=kubeconfig, capture=capsys)


class TestSetup:
    def test_a_cluster_is_set_up_and_a_second_run_says_that_nothing_changed(self, shell: Shell) -> None:
        first = shell("setup")
        assert first.count("created") == len(compose_setup())
        assert "created   Role flexnode.io:see-cluster-facts in kube-system" in first
        assert "node-config --token new" in first
        second = shell("setup", "--output", "json")
        assert {each["result"] for each in json.loads(second)["objects"]} == {"unchanged"}
        assert {seen.headers["Authorization"] for seen in shell.server.seen} == {"Bearer admin-token"}

    def test_a_dry_run_asks_no_cluster_and_prints_what_kubectl_would_take(self, shell: Shell) -> None:
        text, document = shell("setup", "--dry-run"), shell("setup", "--dry-run", "--output", "json")
        objects = [*compose_setup()]
        assert list(yaml.safe_load_all(text)) == objects
        assert json.loads(document) == {"apiVersion": "v1", "kind": "List", "items": objects}
        assert shell.server.seen == []

    def test_a_refusal_is_told_with_code_and_remedy(self, shell: Shell) -> None:
        def before(_request: Request) -> None:
            raise shell.cluster.refuse(403, "you may not grant this")

        shell.cluster.before = before
        shell("setup", code=1)
        assert "kube/forbidden" in shell.notes[-1]
        assert "you may not grant this" in shell.notes[-1]


class TestToken:
    def test_a_token_alone_stands_on_standard_output(self, shell: Shell) -> None:
        text = shell("token", "--ttl", "2h", "--description", "rack 7").strip()
        (info,) = list_tokens(shell.cluster)
        assert text.startswith(f"{info.identifier}.")
        assert len(text) == 23
        assert info.description == "rack 7"
        assert "expires at" in shell.notes[-1]
        assert text not in shell.notes[-1]

    def test_tokens_are_listed_without_their_secrets_and_deleted(self, shell: Shell) -> None:
        made = json.loads(shell("token", "--output", "json"))
        listed = shell("token", "--list")
        assert made["id"] in listed
        assert made["token"] not in listed
        assert json.loads(shell("token", "--list", "--output", "json"))["tokens"][0]["id"] == made["id"]
        assert shell("token", "--delete", made["id"]).strip() == f"deleted the token {made['id']}"
        assert "no bootstrap token" in shell("token", "--list")
        shell("token", "--delete", made["id"], code=1)
        assert "kube/not-found" in shell.notes[-1]

    @pytest.mark.parametrize(
        "words", [("--ttl", "soon"), ("--list", "--delete", "abcdef"), ("--delete", "../x")]
    )
    def test_what_makes_no_sense_is_wrong_usage_and_changes_nothing(
        self, shell: Shell, words: tuple[str, ...]
    ) -> None:
        shell("token", *words, code=2)
        assert not any(seen.method in ("POST", "DELETE") for seen in shell.server.seen)


class TestNodeConfig:
    SERVER = ("--server", "https://api.example.com:6443")

    def test_it_is_ready_to_use_with_a_new_token(self, shell: Shell) -> None:
        document = json.loads(shell("node-config", "--token", "new", *self.SERVER))
        (info,) = list_tokens(shell.cluster)
        assert document["auth"]["bootstrapToken"].startswith(f"{info.identifier}.")
        assert document["cluster"]["ca"] == shell.server.ca
        assert document["cluster"]["dnsServiceIP"] == "10.96.0.10"
        assert document["versions"] == {"kubernetes": "1.29"}

    def test_without_a_token_it_says_what_is_missing(self, shell: Shell) -> None:
        document = json.loads(shell("node-config", *self.SERVER, code=3))
        assert "auth" not in document
        assert "auth.bootstrapToken" in shell.notes[-1]
        assert shell.cluster.get(f"{SECRETS}/any") is None

    def test_a_token_of_one_s_own_is_put_in(self, shell: Shell) -> None:
        token = "abcdef.0123456789abcdef"
        document = json.loads(shell("node-config", "--token", token, *self.SERVER))
        assert document["auth"] == {"bootstrapToken": token}
        assert not any(seen.method == "POST" for seen in shell.server.seen)

    def test_a_wrong_token_is_refused_before_anything_and_not_quoted(self, shell: Shell) -> None:
        shell("node-config", "--token", "MySecretPassword", *self.SERVER, code=2)
        assert "kube/bad-token" in shell.notes[-1]
        assert "MySecretPassword" not in shell.notes[-1]
        assert shell.server.seen == []

    def test_no_token_is_made_for_a_document_that_cannot_be(self, shell: Shell) -> None:
        """The kubeconfig's server is this machine alone."""
        shell("node-config", "--token", "new", code=2)
        assert "--server" in shell.notes[-1]
        assert list_tokens(shell.cluster) == ()


class TestApprove:
    def lay(self, shell: Shell, name: str, **parts: Any) -> None:
        shell.cluster.put(f"{CSRS}/{name}", samples.csr(name, **parts))

    def test_what_is_in_order_is_approved(self, shell: Shell) -> None:
        self.lay(shell, "csr-good")
        assert shell("approve").strip() == "approved csr-good of system:node:edge1"
        found = find_csr(shell.cluster, "csr-good")
        assert found is not None
        assert found.state is CsrState.APPROVED
        assert shell("approve").strip() == "no kubelet asks for a serving certificate"

    def test_what_is_not_is_left_open_and_is_a_reservation(self, shell: Shell) -> None:
        self.lay(shell, "csr-bad", names=(x509.DNSName("elsewhere"),))
        assert "left open csr-bad of system:node:edge1: elsewhere" in shell("approve", code=3)
        document = json.loads(shell("approve", "--output", "json", code=3))
        assert document["approved"] == []
        assert document["refused"][0]["request"] == "csr-bad"

    def test_it_can_go_on_for_a_while(self, shell: Shell) -> None:
        self.lay(shell, "csr-good")
        assert "approved csr-good" in shell("approve", "--watch", "--timeout", "2s")
        looks = [seen.path for seen in shell.server.seen if seen.path.startswith(CSRS)]
        assert sum("watch=true" in path for path in looks) >= 1
        assert len(looks) < 10

    def test_a_time_limit_without_watching_is_wrong_usage(self, shell: Shell) -> None:
        shell("approve", "--timeout", "5m", code=2)
        assert shell.server.seen == []


def test_every_part_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["cluster"], *(["cluster", each] for each in ("setup", "token", "node-config", "approve"))):
        assert run(root, "aks-flex-node", [*words, "--help"]) == 0
    assert "--kubeconfig" in capsys.readouterr().out
