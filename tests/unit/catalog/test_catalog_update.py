"""The script that adds versions: it records what it is given, and refuses what nobody could verify."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import io
import json
import subprocess
import sys
import tarfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from unit.catalog.samples import ONE, TWO, encode, sample

SCRIPT = Path(__file__).resolve().parents[3] / "scripts/update_catalog.py"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "catalog.json"
    path.write_bytes(encode(sample()))
    assert update(path, "format") == "catalog.json is updated\n"
    return path


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("update_catalog", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # the types in it are looked up there
    spec.loader.exec_module(module)
    return module


script = load_script()


def run(catalog: Path, *arguments: str | Path) -> tuple[int, str, str]:
    """The script's exit code, and what it wrote to stdout and stderr."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr):
        code = script.main(["--catalog", str(catalog), *map(str, arguments)])
    return code, stdout.getvalue(), stderr.getvalue()


def update(catalog: Path, *arguments: str | Path) -> str:
    code, stdout, stderr = run(catalog, *arguments)
    assert (code, stderr) == (0, "")
    return stdout


def refusal(catalog: Path, *arguments: str | Path) -> str:
    before = catalog.read_bytes()
    code, stdout, stderr = run(catalog, *arguments)
    assert (code, stdout) == (1, "")
    assert catalog.read_bytes() == before
    return stderr


def versions(catalog: Path, component: str) -> Any:
    return json.loads(catalog.read_bytes())["components"][component]["versions"]


def published(folder: Path, component: str, digests: dict[str, dict[str, str]], *source: str) -> Path:
    path = folder / "digests.json"
    entry = {"url": "ignored", "versions": digests, "also_built_from_source": list(source)}
    path.write_bytes(encode({"about": "ignored", "components": {component: entry}}))
    return path


def download(folder: Path, place: str, content: bytes) -> str:
    """A downloaded file; its digest."""
    path = folder / place
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def archive(files: dict[str, bytes]) -> bytes:
    """The same bytes each time: they name a test, and every worker has to know it by the same name."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as out:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            out.addfile(member, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def test_published_digests_are_added_in_order_and_once(file: Path, tmp_path: Path) -> None:
    digests = published(tmp_path, "engine", {"7.9.5": {"amd64": f"sha256:{TWO}"}}, "7.9.5", "7.10.0")
    assert update(file, "digests", digests) == "catalog.json is updated\n"
    assert list(versions(file, "engine")) == ["7.9.0", "7.9.5", "7.10.0"]
    assert versions(file, "engine")["7.9.5"] == {"release": {"amd64": {"sha256": TWO}}, "source": "v7.9.5"}
    assert update(file, "digests", digests) == "catalog.json is up to date\n"


def test_a_new_patch_of_kubernetes_becomes_the_one_that_is_installed(file: Path, tmp_path: Path) -> None:
    update(file, "digests", published(tmp_path, "kubelet", {"9.8.11": {"amd64": f"sha256:{TWO}"}}))
    assert json.loads(file.read_bytes())["release_sets"]["9.8"]["kubernetes"] == "9.8.11"


@pytest.mark.parametrize(
    ("digests", "words"),
    [
        ({"7.9.5": {}}, "engine 7.9.5 has no digest"),
        ({"7.9.5": {"amd64": ""}}, "engine 7.9.5 (amd64) has no SHA-256 digest"),
        ({"7.9.5": {"amd64": f"md5:{TWO}"}}, "engine 7.9.5 (amd64) has no SHA-256 digest"),
        ({"7.9.5": {"amd64": "sha256:abc"}}, "sha256"),
        ({"7.9.0": {"amd64": f"sha256:{TWO}"}}, f"was published with digest {ONE}, not {TWO}"),
    ],
)
def test_a_digest_that_is_missing_or_another_one_is_refused(
    file: Path, tmp_path: Path, digests: dict[str, dict[str, str]], words: str
) -> None:
    assert words in refusal(file, "digests", published(tmp_path, "engine", digests))


def test_an_unknown_component_is_refused(file: Path, tmp_path: Path) -> None:
    digests = published(tmp_path, "motor", {"7.9.5": {"amd64": f"sha256:{TWO}"}})
    assert "no component motor; it has: engine" in refusal(file, "digests", digests)


def test_downloaded_files_are_recorded_with_what_is_inside(file: Path, tmp_path: Path) -> None:
    content = archive({"./bin/engine": b"engine", "7.9.5-arm64/tool": b"tool", "LICENSE": b"free"})
    digest = download(tmp_path / "new", "engine/7.9.5/arm64/any-name.tgz", content)
    plain = download(tmp_path / "new", "kubelet/9.8.2/arm64/kubelet", b"kubelet")
    update(file, "files", tmp_path / "new")
    assert versions(file, "engine")["7.9.5"]["release"]["arm64"] == {
        "sha256": digest,
        "size": len(content),
        "members": {
            "7.9.5-arm64/tool": hashlib.sha256(b"tool").hexdigest(),
            "bin/engine": hashlib.sha256(b"engine").hexdigest(),
        },
    }
    assert versions(file, "kubelet")["9.8.2"]["release"]["arm64"] == {"sha256": plain, "size": 7}


def test_a_download_adds_to_what_was_published_about_it(file: Path, tmp_path: Path) -> None:
    digest = hashlib.sha256(b"kubelet").hexdigest()
    update(file, "digests", published(tmp_path, "kubelet", {"9.8.4": {"amd64": f"sha256:{digest}"}}))
    download(tmp_path / "new", "kubelet/9.8.4/amd64/kubelet", b"kubelet")
    update(file, "files", tmp_path / "new")
    assert versions(file, "kubelet")["9.8.4"]["release"]["amd64"] == {"sha256": digest, "size": 7}


@pytest.mark.parametrize(
    ("place", "content", "words"),
    [
        ("kubelet/9.8.2/amd64/kubelet", b"other", f"was published with digest {ONE}"),
        ("engine/7.9.5/amd64/x.tgz", b"not an archive", "is not an archive"),
        ("engine/7.9.5/amd64/x.tgz", archive({"bin/engine": b""}), "does not contain 7.9.5-amd64/tool"),
        ("engine/7.9.5/sparc/x.tgz", b"", "sparc is not an architecture"),
        ("kubelet", b"", "holds no file at COMPONENT/VERSION/ARCH/NAME"),
    ],
)
def test_a_download_that_is_not_the_file_is_refused(
    file: Path, tmp_path: Path, place: str, content: bytes, words: str
) -> None:
    download(tmp_path / "new", place, content)
    assert words in refusal(file, "files", tmp_path / "new")


def test_a_version_that_can_be_built_needs_no_digest(file: Path) -> None:
    update(file, "source", "tower", "7.3.4")
    update(file, "source", "lamp", "7.2.0", "v0.9.1")
    assert versions(file, "tower")["7.3.4"] == {"source": "v7.3.4"}
    assert versions(file, "lamp")["7.2.0"] == {"source": "v0.9.1"}


def test_the_form_can_be_checked_without_changing_it(file: Path) -> None:
    assert update(file, "format", "--check") == "catalog.json is up to date\n"
    file.write_bytes(encode(sample()))
    assert "not in its canonical form" in refusal(file, "format", "--check")


def test_the_script_runs_by_itself_on_the_shipped_catalog() -> None:
    done = subprocess.run(
        (sys.executable, SCRIPT, "format", "--check"), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "catalog.json is up to date\n")


def test_a_file_that_is_no_text_or_no_file_is_refused_in_words(file: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd.json"
    odd.write_bytes(b'{"components": {"\xe9": 1}}')
    for words in ((file, "digests", odd), (tmp_path, "format"), (tmp_path / "none.json", "format")):
        code, _, told = run(*words)
        assert code == 1
        assert "cannot be read" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("source", "kubelet", "1.x"), "not an acceptable catalog"),
        (("digests", "/dev/zero"), "it is not a file"),
        (("digests", "a" * 300), "cannot be read"),
        (("digests", "nul\0byte"), "not text"),
        (("source", "kubelet", "1.35.99", "v\udcff"), "not text"),
    ],
)
def test_input_that_cannot_be_taken_is_refused_in_words(
    file: Path, arguments: tuple[str, ...], words: str
) -> None:
    before = file.read_bytes()
    code, stdout, stderr = run(file, *arguments)
    assert code in (1, 2)
    assert stdout == ""
    assert words in stderr
    assert "reinstall" not in stderr
    assert file.read_bytes() == before


def test_a_catalog_that_cannot_be_written_stays_as_it_was(file: Path) -> None:
    file.with_name(f".{file.name}.new").mkdir()
    before = file.read_bytes()
    name = next(iter(json.loads(before)["components"]))
    code, _, stderr = run(file, "source", name, "99.9.9")
    assert code == 1
    assert "cannot be written" in stderr
    assert file.read_bytes() == before


def test_a_full_disk_behind_the_output_is_said(file: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, SCRIPT, "--catalog", file, "format"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: the output cannot be written: No space left on device\n")
