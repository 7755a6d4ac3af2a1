"""Each image has what its program needs to run, and not the rest of a distribution."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexlab.errors import LabError
from flexlab.images.contents import (
    compose_busybox,
    compose_kube_proxy,
    compose_pause,
    parse_busybox_version,
)
from flexnode.model import Arch


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Unpacked packages, as small as they can be."""
    for name in (
        "usr/sbin/nft",
        "usr/sbin/other",
        "usr/lib/x86_64-linux-gnu/libnftables.so.1.1.0",
        "usr/lib/x86_64-linux-gnu/gconv/UTF-16.so",
        "lib64/ld-linux-x86-64.so.2",
        "usr/share/doc/nftables/README",
        "bin/busybox",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"data")
        path.chmod(0o755)
    (tmp_path / "usr/lib/x86_64-linux-gnu/libnftables.so.1").symlink_to("libnftables.so.1.1.0")
    return tmp_path


def test_kube_proxy_finds_nft_and_its_libraries(root: Path) -> None:
    image = compose_kube_proxy(root / "bin/busybox", root, Arch.AMD64)
    assert {item.name for item in image.items} == {
        "usr/local/bin/kube-proxy",
        "tmp",
        "usr/sbin/nft",
        "usr/lib/x86_64-linux-gnu/libnftables.so.1.1.0",
        "usr/lib/x86_64-linux-gnu/libnftables.so.1",
        "lib64/ld-linux-x86-64.so.2",
    }
    links = {item.name: item.link for item in image.items if item.link}
    assert links == {"usr/lib/x86_64-linux-gnu/libnftables.so.1": "libnftables.so.1.1.0"}


def test_busybox_answers_to_the_names_of_its_applets(root: Path) -> None:
    image = compose_busybox(root / "bin/busybox", ["busybox", "sh", "httpd"], Arch.AMD64)
    links = {item.name: item.link for item in image.items if item.link}
    assert links == {"bin/sh": "busybox", "bin/httpd": "busybox"}
    assert image.command == ("sh",)


def test_pause_does_not_run_as_root(root: Path) -> None:
    assert compose_pause(root / "bin/busybox", Arch.AMD64).user == "65535:65535"


def test_the_version_of_busybox_is_the_one_it_prints() -> None:
    assert parse_busybox_version("BusyBox v9.8.7 (Debian 1:9.8.7-4+b5) multi-call binary.\n") == "9.8.7"
    with pytest.raises(LabError, match="does not say its version: 'sh: not found'"):
        parse_busybox_version("sh: not found\n")
