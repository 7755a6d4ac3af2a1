"""What `aks-flex-node config` shows, checks and converts, as a user meets it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from flexnode.cli.config import ConfigChoice, config_options
from flexnode.cli.ending import run
from flexnode.cli.root import root
from unit.config.samples import CLIENT_SECRET, HASH, HEADER, LATER, SMALL, TOKEN, small

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "config"


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith("FLEXNODE_"):
            monkeypatch.delenv(name)


def aks_flex_node(*words: object) -> int:
    return run(root, "aks-flex-node", [str(word) for word in words])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration, a drop-in over it, and nothing secret in the open."""
    document = {
        **HEADER,
        "cluster": {"server": "https://api.example.com:6443", "caHashes": [HASH]},
        "auth": {"bootstrapToken": {"file": "/etc/aks-flex-node/token"}},
        "kubelet": {"maxPods": 30},
        "node": {"labels": {"example.com/rack": "17"}},
    }
    path = write(tmp_path / "config.json", document)
    drop_ins = tmp_path / "config.d"
    drop_ins.mkdir()
    (drop_ins / "50-pods.yaml").write_text("kubelet: {maxPods: 50, featureGates: {Thing: true}}\n")
    return path


def write(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document))
    path.chmod(0o600)
    return path


def test_show_tells_the_merged_configuration(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert aks_flex_node("config", "show", "--config", config, "--output", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert {key: document[key] for key in HEADER} == HEADER
    assert document["kubelet"]["maxPods"] == 50
    assert document["auth"]["bootstrapToken"] == {"file": "/etc/aks-flex-node/token"}


def test_what_show_tells_can_be_used_as_a_configuration(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for output, suffix in (("text", "yaml"), ("json", "json")):
        assert aks_flex_node("config", "show", "--config", config, "--output", output) == 0
        copy = tmp_path / "copy" / f"node.{suffix}"
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(capsys.readouterr().out)
        assert aks_flex_node("config", "validate", "--config", copy) == 0
        capsys.readouterr()
        assert aks_flex_node("config", "show", "--config", copy) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] == (tmp_path / "copy" / "node.yaml").read_text()


def test_show_origin_is_as_reviewed(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """UPDATE_GOLDEN=1 writes it anew."""
    words = ("--config", config, "--set", "kubelet.verbosity=4")
    assert aks_flex_node("config", "show", "--origin", *words) == 0
    text = capsys.readouterr().out.replace(f"{config.parent}/", "/etc/aks-flex-node/")
    golden = GOLDEN / "show-origin.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_show_origin_is_there_for_programs_too(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert aks_flex_node("config", "show", "--origin", "--config", config, "--output", "json") == 0
    found = json.loads(capsys.readouterr().out)["kubelet.maxPods"]
    assert found == {
        "value": 50,
        "origin": str(config.parent / "config.d" / "50-pods.yaml"),
        "overrode": [{"value": 30, "origin": str(config)}],
    }


def test_show_works_before_the_configuration_is_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who puts one together wants to look at it meanwhile."""
    path = write(tmp_path / "config.json", HEADER)
    assert aks_flex_node("config", "show", "--config", path) == 0
    assert "cni: bridge" in capsys.readouterr().out


@pytest.mark.parametrize("words", [("show",), ("show", "--origin"), ("validate",), ("convert",)])
@pytest.mark.parametrize("output", ["text", "json"])
def test_no_verb_shows_a_secret(
    words: tuple[str, ...], output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, document in enumerate([LATER, small(kubelet={"maxPods": 0}), small(auth={"x": TOKEN})]):
        path = write(tmp_path / f"{number}.json", document)
        named = (path,) if words == ("convert",) else ("--config", path)
        aks_flex_node("config", *words, *named, "--output", output)
        shown = capsys.readouterr()
        assert shown.out + shown.err
        for secret in (TOKEN, CLIENT_SECRET):
            assert secret not in shown.out + shown.err


def test_validate_accepts_and_says_what_it_looked_at(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert aks_flex_node("config", "validate", "--config", config) == 0
    shown = capsys.readouterr()
    assert shown.out == f"valid\n  {config}\n  {config.parent}/config.d/50-pods.yaml\n"
    assert shown.err == ""


def test_validate_names_everything_that_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "config.json", small(kubelet={"maxPod": 5, "verbosity": "high"}))
    assert aks_flex_node("config", "validate", "--config", path) == 2
    assert capsys.readouterr().err == (
        "error: 2 problems in the configuration:\n"
        f"  {path}: kubelet.maxPod is not a setting; did you mean kubelet.maxPods?\n"
        f'  {path}: kubelet.verbosity = "high" is not a whole number from 0 to 10\n'
        "  code: config/invalid (terminal)\n"
        "  next: correct this, then check with `aks-flex-node config validate`\n"
    )
    assert aks_flex_node("config", "validate", "--config", path, "--output", "json") == 2
    problems = json.loads(capsys.readouterr().out)["error"]["problems"]
    assert [problem["path"] for problem in problems] == ["kubelet.maxPod", "kubelet.verbosity"]
    assert problems[0]["hint"] == "did you mean kubelet.maxPods?"


def test_validate_asks_for_what_a_node_needs_unless_told_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "config.json", HEADER)
    assert aks_flex_node("config", "validate", "--config", path) == 2
    assert "cluster.server is missing" in capsys.readouterr().err
    assert aks_flex_node("config", "validate", "--partial", "--config", path) == 0


def test_warnings_do_not_make_a_configuration_invalid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "config.json", LATER)
    assert aks_flex_node("config", "validate", "--config", path) == 0
    assert f"warning: {path}: npd.version has no effect" in capsys.readouterr().err
    assert aks_flex_node("config", "validate", "--config", path, "--output", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["valid"] is True
    assert len(found["warnings"]) == 4
    assert len(found["digest"]) == 64


def test_a_configuration_that_is_not_there_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert aks_flex_node("config", "validate", "--config", tmp_path / "config.json") == 2
    assert "code: config/not-found" in capsys.readouterr().err


def test_variables_count(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLEXNODE_KUBELET__MAX_PODS", "60")
    assert aks_flex_node("config", "show", "--config", config, "--output", "json") == 0
    assert json.loads(capsys.readouterr().out)["kubelet"]["maxPods"] == 60


@pytest.mark.parametrize("output", ["text", "json"])
def test_the_schema_is_printed_as_it_is(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert aks_flex_node("config", "schema", "--output", output) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["properties"]["apiVersion"]["const"] == "flexnode.io/v1"


def test_convert_writes_the_whole_document_for_its_owner_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With secrets redacted the new document would have to be mended by hand, in the open."""
    old = write(tmp_path / "old.json", LATER)
    for name in ("new.json", "new.yaml"):
        new = tmp_path / name
        assert aks_flex_node("config", "convert", old, "--write", new) == 0
        shown = capsys.readouterr()
        assert shown.out == f"wrote {new}\n"
        assert "npd.version has no effect" in shown.err
        assert stat.S_IMODE(new.stat().st_mode) == 0o600
        assert TOKEN in new.read_text()
        assert aks_flex_node("config", "validate", "--config", new) == 0
        assert capsys.readouterr().err == ""
    assert json.loads(old.read_text()) == LATER


def test_convert_never_writes_over_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = write(tmp_path / "old.json", LATER)
    assert aks_flex_node("config", "convert", old, "--write", old) == 2
    assert "code: config/not-written" in capsys.readouterr().err
    assert json.loads(old.read_text()) == LATER


def test_convert_tells_what_is_wrong_by_the_old_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = write(tmp_path / "old.json", {**LATER, "npd": {"verzion": "1"}})
    assert aks_flex_node("config", "convert", old) == 2
    assert "npd.verzion is not a setting; did you mean npd.version?" in capsys.readouterr().err


def test_other_verbs_get_the_same_options(config: Path) -> None:
    @click.command()
    @click.argument("name")
    @config_options
    def verb(name: str, config: ConfigChoice) -> tuple[str, int | None]:
        return name, config.load().spec.kubelet.max_pods

    def called(*words: str) -> object:
        return verb.main(args=["x", *words], prog_name="verb", standalone_mode=False)

    assert called("--config", str(config)) == ("x", 50)
    assert called("--config", str(config), "--set", "kubelet.maxPods=7") == ("x", 7)


def test_the_usual_place_is_said_in_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert aks_flex_node("config", "show", "--help") == 0
    assert "/etc/aks-flex-node/config.json" in capsys.readouterr().out


def test_the_verb_is_cheap_to_import() -> None:
    program = "import sys, flexnode.cli.config; print(*sorted(sys.modules))"
    argv = [sys.executable, "-I", "-c", program]
    loaded = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
    assert {"yaml", "httpx", "flexnode.config"} & set(loaded) == set()


def test_the_smallest_configuration_is_small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert aks_flex_node("config", "validate", "--config", write(tmp_path / "config.json", SMALL)) == 0
