"""Files are found, read in order and refused if nobody could tell what they mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flexnode.config import InvalidConfig, Layer, Resolved, find_origin, load_config
from flexnode.config.load import find_config
from flexnode.errors import ConfigError, exit_code
from unit.config.samples import CA, HEADER, LATER, SMALL, TOKEN, small

YAML = """\
apiVersion: flexnode.io/v1
kind: NodeConfig
cluster:
  server: https://api.example.com:6443
  caHashes: [sha256:{}]
kubelet:
  servingCertificates: on
  maxPods: 30
"""


def write(path: Path, data: object, mode: int = 0o600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    path.chmod(mode)
    return path


def load(folder: Path, **options: Any) -> Resolved:
    """Load with `folder` as the usual place, and no image."""
    return load_config(directory=folder, image=options.pop("image", folder / "no-image"), **options)


def problems(folder: Path, **options: Any) -> list[str]:
    with pytest.raises(InvalidConfig) as raised:
        load(folder, **options)
    assert exit_code(raised.value) == 2
    return [str(problem).replace(f"{folder}/", "") for problem in raised.value.problems]


def test_sources_are_read_from_weakest_to_strongest(tmp_path: Path) -> None:
    """The order is the contract: a drop-in of an administrator may not lose against the image."""
    sources = [
        "image",
        "metadata",
        "config.json",
        "config.d/10.json",
        "config.d/20.yaml",
        "environment",
        "--set",
    ]
    for count in range(1, len(sources) + 1):
        folder = tmp_path / str(count)
        present = sources[:count]
        options: dict[str, Any] = {}

        def body(number: int) -> dict[str, Any]:
            return {"kubelet": {"maxPods": 10 + number}}

        write(folder / "image.json", {"config": body(0), "components": ["…"]})
        options["image"] = folder / "image.json"
        if "metadata" in present:
            options["metadata"] = [Layer(origin="metadata", data={**HEADER, **body(1)})]
        if "config.json" in present:
            write(folder / "config.json", {**HEADER, **body(2)})
        if "config.d/10.json" in present:
            write(folder / "config.d" / "10.json", body(3))
        if "config.d/20.yaml" in present:
            write(folder / "config.d" / "20.yaml", "kubelet: {maxPods: 14}")
        if "environment" in present:
            options["environ"] = {"FLEXNODE_KUBELET__MAX_PODS": "15"}
        if "--set" in present:
            options["sets"] = ["kubelet.maxPods=16"]
        resolved = load(folder, complete=False, **options)
        assert resolved.spec.kubelet.max_pods == 9 + count
        origin = find_origin(resolved, "kubelet.maxPods") or ""
        assert present[-1].removeprefix("config.d/") in origin.replace("image.json", "image")
        assert len(resolved.provenance["kubelet", "maxPods"].overrode) == count - 1


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    write(tmp_path / "config.yaml", YAML.format("ab" * 32))
    resolved = load(tmp_path)
    assert resolved.spec.kubelet.max_pods == 30
    assert resolved.spec.kubelet.serving_certificates == "on"
    assert resolved.files == (tmp_path / "config.yaml",)


def test_the_file_that_is_named_is_read_and_the_usual_one_is_not(tmp_path: Path) -> None:
    write(tmp_path / "config.json", small(kubelet={"maxPods": 1}))
    other = write(tmp_path / "elsewhere" / "node.yml", YAML.format("ab" * 32))
    write(tmp_path / "elsewhere" / "config.d" / "50.json", {"kubelet": {"verbosity": 5}})
    resolved = load(tmp_path, path=other)
    assert (resolved.spec.kubelet.max_pods, resolved.spec.kubelet.verbosity) == (30, 5)
    assert [file.name for file in resolved.files] == ["node.yml", "50.json"]


def test_a_file_without_a_suffix_is_told_by_its_content(tmp_path: Path) -> None:
    assert load(tmp_path, path=write(tmp_path / "a.conf", small())).spec.cluster.ca == CA
    assert load(tmp_path, path=write(tmp_path / "b.conf", YAML.format("ab" * 32))).spec.kubelet.max_pods == 30


def test_two_configurations_are_an_error(tmp_path: Path) -> None:
    write(tmp_path / "config.json", SMALL)
    write(tmp_path / "config.yaml", "a: b")
    with pytest.raises(ConfigError) as raised:
        load(tmp_path)
    assert raised.value.code == "config/ambiguous"
    assert exit_code(raised.value) == 2
    with pytest.raises(ConfigError):
        load(tmp_path, path=tmp_path / "config.json")
    other = write(tmp_path / "node.json", SMALL)
    assert find_config(other, tmp_path) == other


def test_a_configuration_that_does_not_exist_is_said_so(tmp_path: Path) -> None:
    for options in ({}, {"path": tmp_path / "config.json"}):
        with pytest.raises(ConfigError) as raised:
            load(tmp_path, **options)
        assert raised.value.code == "config/not-found"
        assert "node-config" in raised.value.hint
    assert load(tmp_path, complete=False).spec.kubelet.verbosity == 2


def test_a_place_that_cannot_be_looked_at_is_said_so(tmp_path: Path) -> None:
    """/etc/aks-flex-node is root's alone; whoever else asks gets an answer and no crash."""
    for options in ({"path": tmp_path / ("x" * 300)}, {"image": tmp_path / ("x" * 300)}):
        with pytest.raises(ConfigError) as raised:
            load(tmp_path, **options)
        assert raised.value.code == "config/unreadable"
        assert raised.value.hint
    (tmp_path / "config.d").write_text("")
    with pytest.raises(ConfigError) as raised:
        load(tmp_path)
    assert raised.value.code == "config/unreadable"


def test_drop_ins_alone_are_enough(tmp_path: Path) -> None:
    write(tmp_path / "config.d" / "10.json", {"cluster": SMALL["cluster"]})
    write(tmp_path / "config.d" / "20.json", {**HEADER, "auth": SMALL["auth"]})
    write(tmp_path / "config.d" / "30.json", "{}")
    write(tmp_path / "config.d" / "40.yaml", "# nothing yet\n")
    assert load(tmp_path).spec.cluster.ca == CA


def test_files_that_are_no_drop_ins_are_said_so(tmp_path: Path) -> None:
    """A drop-in under a misspelt name would be missed by nobody until the node misses it."""
    write(tmp_path / "config.json", SMALL)
    write(tmp_path / "config.d" / "50-labels.jsn", "{}")
    write(tmp_path / "config.d" / ".hidden.json", "{")
    (warning,) = load(tmp_path).warnings
    assert warning.origin.endswith("50-labels.jsn")
    assert warning.what == "is ignored"


def test_problems_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    write(tmp_path / "config.json", {**HEADER, "kubelet": {"maxPods": 0}})
    write(tmp_path / "config.d" / "10.json", "{")
    write(tmp_path / "config.d" / "20.json", '{"node": {"name": "a", "name": "b"}}')
    write(tmp_path / "config.d" / "30.json", "[]")
    write(tmp_path / "config.d" / "40.json", {"apiVersion": "flexnode.io/v1"})
    (tmp_path / "config.d" / "50.json").mkdir()
    (tmp_path / "config.d" / "60.json").write_bytes(b"\xff")
    found = problems(tmp_path, environ={"FLEXNODE_X": "1"}, sets=["y=1"])
    assert found[0] == "config.json: kubelet.maxPods = 0 is not a whole number from 1 to 1024"
    assert found[1].startswith("config.d/10.json: is not JSON")
    assert found[2:] == [
        "config.d/20.json: node.name is written twice; keep one of them",
        "config.d/30.json: is not a map of settings",
        "config.d/40.json: kind is missing; write kind: NodeConfig",
        "config.d/50.json: cannot be read: Is a directory",
        "config.d/60.json: is not text in UTF-8",
        "environment FLEXNODE_X: is not a setting",
        "--set: y is not a setting",
    ]


def test_an_empty_file_is_not_a_configuration(tmp_path: Path) -> None:
    write(tmp_path / "config.yaml", "\n")
    assert problems(tmp_path) == ["config.yaml: is empty"]


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "config.json", "\ufeff" + json.dumps(SMALL))
    assert load(tmp_path).spec.cluster.ca == CA


def test_a_secret_that_every_user_can_read_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "config.json", SMALL, mode=0o644)
    (problem,) = problems(tmp_path)
    assert problem.startswith(
        "config.json: auth.bootstrapToken is a secret in a file that every user can read"
    )
    assert problem.endswith("chmod 600 config.json")
    path.chmod(0o640)
    assert load(tmp_path).spec.credentials.bootstrap_token is not None


def test_a_password_in_a_proxy_is_a_secret_too(tmp_path: Path) -> None:
    write(tmp_path / "config.json", SMALL)
    write(tmp_path / "config.d" / "10.json", {"proxy": {"http": "http://me:secret@proxy:3128"}}, mode=0o644)
    (problem,) = problems(tmp_path)
    assert "proxy.http is a secret in a file" in problem
    write(tmp_path / "config.d" / "10.json", {"proxy": {"http": "http://proxy:3128"}}, mode=0o644)
    assert load(tmp_path).spec.machine.proxy.http == "http://proxy:3128"


def test_a_file_without_secrets_may_be_read_by_all(tmp_path: Path) -> None:
    document = small(auth={"bootstrapToken": {"file": str(tmp_path / "token")}})
    write(tmp_path / "config.json", document, mode=0o644)
    assert load(tmp_path).spec.credentials.bootstrap_token is not None
    write(tmp_path / "token", TOKEN, mode=0o644)
    (problem,) = problems(tmp_path)
    assert "auth.bootstrapToken is read from token, which every user can read; chmod 600 token" in problem


@pytest.mark.parametrize(
    ("config", "what"),
    [
        ({"cluster": {"domain": "a"}}, "cluster does not belong into an image"),
        ({"auth": {"bootstrapToken": TOKEN}}, "auth does not belong into an image"),
        ({"azure": {"cloud": "AzurePublicCloud"}}, "azure does not belong into an image"),
        ({"node": {"name": "a"}}, "node.name does not belong into an image"),
        ({"proxy": {"http": "http://me:secret@proxy:1"}}, "proxy.http is a secret, and an image holds none"),
        ({"kubelet": {"maxPod": 1}}, "kubelet.maxPod is not a setting"),
    ],
)
def test_an_image_holds_nothing_of_one_node(config: dict[str, Any], what: str, tmp_path: Path) -> None:
    image = write(tmp_path / "image.json", {"config": config})
    (problem,) = problems(tmp_path, image=image, complete=False)
    assert problem.startswith(f"image.json: {what}")


@pytest.mark.parametrize(("text", "what"), [("[]", "is not the manifest of an image"), ("{", "is not JSON")])
def test_a_broken_image_manifest_is_told(text: str, what: str, tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, image=write(tmp_path / "image.json", text), complete=False)
    assert what in problem


def test_an_old_document_is_completed_by_new_drop_ins(tmp_path: Path) -> None:
    """Who still has an old document can use what is new without rewriting it."""
    write(tmp_path / "config.json", LATER)
    write(tmp_path / "config.d" / "10.yaml", "kubelet: {podPidsLimit: 500}\nnode: {labels: {a: b}}")
    resolved = load(tmp_path)
    assert resolved.spec.kubelet.pod_pids_limit == 500
    assert resolved.spec.identity.labels == {"example.com/rack": "17", "a": "b"}
    assert len(resolved.warnings) == 4


@pytest.mark.parametrize("provider", [{}, {"name": 7}])
def test_a_provider_without_a_usable_name_is_told_and_no_defect(
    provider: dict[str, Any], tmp_path: Path
) -> None:
    write(tmp_path / "config.json", {**HEADER, "kubelet": {"credentialProviders": [provider]}})
    (named, *_) = problems(tmp_path)
    assert "kubelet.credentialProviders[0].name" in named
