"""The parts themselves: built, run, and asked who they are."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from flexlab import registry
from flexlab.images import ImageReader, split_reference
from flexlab.parts import Parts, available_kubernetes, ensure_parts
from flexnode.catalog import load_catalog
from flexnode.clock import SystemClock
from flexnode.host import Command, run
from flexnode.model import Arch, Flavour, Format
from flexnode.progress import Silent

from .fakes import Steps

pytestmark = pytest.mark.vm

VERSION_ARGUMENTS = {
    "kubectl": ("version", "--client"),
    "kubeadm": ("version", "--output=short"),
    "bridge": ("--version",),
}


@pytest.fixture(scope="module")
def parts() -> Parts:
    return ensure_parts(available_kubernetes()[0], progress=Silent())


def expected_versions(parts: Parts) -> dict[str, str]:
    versions = load_catalog().release_set(parts.kubernetes).components
    kubernetes = (
        "kubelet",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kube-proxy",
        "kubectl",
        "kubeadm",
    )
    return {
        **dict.fromkeys(kubernetes, f"v{parts.kubernetes}"),
        "containerd": f"v{versions['containerd']}",
        "ctr": f"v{versions['containerd']}",
        "containerd-shim-runc-v2": f"v{versions['containerd']}",
        "runc": versions["runc"],
        "etcd": versions["etcd"],
        "registry": f"v{versions['distribution']}",
        "bridge": f"v{versions['cni-plugins']}",
    }


def test_each_program_is_the_version_that_was_asked_for(parts: Parts) -> None:
    for name, version in expected_versions(parts).items():
        arguments = VERSION_ARGUMENTS.get(name, ("--version",))
        if name == "containerd-shim-runc-v2":
            arguments = ("-v",)
        done = run(Command(argv=(str(parts.binary(name)), *arguments)))
        words = re.split(r"[\s,]+", (done.stdout + done.stderr).decode())
        assert version in words, f"{name} says {words}"


def test_runc_can_apply_seccomp(parts: Parts) -> None:
    """A runc without it lets nodes go Ready on which no pod starts."""
    lines = run(Command(argv=(str(parts.binary("runc")), "--version"))).text.splitlines()
    assert any(line.startswith("libseccomp:") for line in lines), lines
    assert b'"seccomp"' in run(Command(argv=(str(parts.binary("runc")), "features"))).stdout


def test_a_second_run_builds_nothing(parts: Parts) -> None:
    steps, clock = Steps(), SystemClock()
    start = clock.monotonic()
    again = ensure_parts(parts.kubernetes, progress=steps)
    assert clock.monotonic() - start < 1
    assert steps.titles == []
    assert again == parts


def test_the_catalog_lists_what_the_store_serves(parts: Parts) -> None:
    catalog = load_catalog([parts.overlay])
    release_set = catalog.release_set(parts.kubernetes)
    artifacts = catalog.artifacts(release_set, Arch.AMD64, lab=True)
    built = [artifact for artifact in artifacts if artifact.flavour is Flavour.SOURCE]
    assert {"kubelet", "containerd", "runc", "cni-plugins", "etcd", "kube-apiserver"} <= {
        artifact.component for artifact in built
    }
    for artifact in built:
        path = parts.store / "sha256" / artifact.sha256
        assert hashlib.sha256(path.read_bytes()).hexdigest() == artifact.sha256
        assert path.stat().st_size == artifact.size
        if artifact.format is Format.TAR_GZ:
            with tarfile.open(path) as tar:
                found = {each.name.removeprefix("./"): each for each in tar}
                for member in artifact.members:
                    stream = tar.extractfile(found[member.path])
                    assert stream is not None
                    assert hashlib.sha256(stream.read()).hexdigest() == member.sha256


def test_nft_runs_with_the_libraries_of_the_image(parts: Parts, tmp_path: Path) -> None:
    image = parts.image("kube-proxy")
    reader = ImageReader(image.path)
    unpack(reader, image.digest, tmp_path)
    for program, words in (
        ("/usr/sbin/nft", b"nftables v"),
        ("/usr/sbin/conntrack", b"conntrack v"),
        ("/usr/local/bin/kube-proxy", parts.kubernetes.encode()),
    ):
        done = run(Command(argv=("chroot", str(tmp_path), program, "--version")))
        assert words in done.stdout


def test_busybox_serves_and_fetches(parts: Parts, tmp_path: Path) -> None:
    image = parts.image("busybox")
    unpack(ImageReader(image.path), image.digest, tmp_path)
    for applet in ("sh", "httpd", "nc", "wget", "sleep"):
        done = run(Command(argv=("chroot", str(tmp_path), f"/bin/{applet}", "--help"), expect=(0, 1)))
        assert b"Usage" in done.stdout + done.stderr or b"BusyBox" in done.stdout + done.stderr


def unpack(reader: ImageReader, digest: str, folder: Path) -> None:
    for layer in json.loads(reader.read_blob(digest))["layers"]:
        with tarfile.open(fileobj=io.BytesIO(reader.read_blob(layer["digest"]))) as tar:
            tar.extractall(folder, filter="tar")


@pytest.fixture
def served(parts: Parts, tmp_path: Path) -> Iterator[httpx.Client]:
    """The registry, read-only as a lab runs it."""
    storage = registry.ensure_registry_storage(parts, Silent())
    binary, log = parts.binary("registry"), tmp_path / "log"
    with registry.serve_on_socket(binary, storage, log=log, clock=SystemClock(), readonly=True) as client:
        yield client


def test_the_registry_serves_every_image_by_its_digest(parts: Parts, served: httpx.Client) -> None:
    for image in parts.images:
        _, name, tag = split_reference(image.reference)
        answer = served.get(
            f"/v2/{name}/manifests/{tag}", headers={"Accept": "application/vnd.oci.image.manifest.v1+json"}
        )
        assert answer.headers["Docker-Content-Digest"] == image.digest
        for layer in answer.json()["layers"]:
            blob = served.get(f"/v2/{name}/blobs/{layer['digest']}").content
            assert f"sha256:{hashlib.sha256(blob).hexdigest()}" == layer["digest"]


def test_a_lab_cannot_change_what_others_use(served: httpx.Client) -> None:
    assert served.post("/v2/pause/blobs/uploads/").status_code == httpx.codes.METHOD_NOT_ALLOWED
