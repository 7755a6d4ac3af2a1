"""Images are the same bytes for the same content, and what a container runtime reads."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from flexlab.errors import LabError
from flexlab.images import Image, ImageReader, split_reference, write_image
from flexlab.images.tarball import Item, write_tar_gz
from flexnode.model import Arch

REFERENCE = "registry.example:5000/tool:1.0"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_bytes(b"#!/bin/sh\n")
    return path


def make_image(program: Path) -> Image:
    items = (
        Item(name="bin/tool", source=program),
        Item(name="tmp", mode=0o1777),
        Item(name="sh", link="bin/tool"),
    )
    return Image(items=items, arch=Arch.AMD64, entrypoint=("/bin/tool",), command=("serve",), user="65535")


def test_the_same_content_is_the_same_image(program: Path, tmp_path: Path) -> None:
    first = write_image(make_image(program), [REFERENCE], tmp_path / "first")
    program.touch()
    os.utime(program, (1, 1))
    image = make_image(program)
    reordered = Image(
        items=image.items[::-1],
        arch=image.arch,
        entrypoint=image.entrypoint,
        command=image.command,
        user=image.user,
    )
    second = write_image(reordered, [REFERENCE], tmp_path / "second")
    assert first == second
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_other_content_is_another_image(program: Path, tmp_path: Path) -> None:
    first = write_image(make_image(program), [REFERENCE], tmp_path / "first")
    program.write_bytes(b"#!/bin/bash\n")
    assert write_image(make_image(program), [REFERENCE], tmp_path / "second") != first


def test_every_digest_in_the_image_is_right(program: Path, tmp_path: Path) -> None:
    digest = write_image(make_image(program), [REFERENCE], tmp_path / "image.tar")
    reader = ImageReader(tmp_path / "image.tar")
    assert reader.manifest_digest() == digest
    manifest = json.loads(reader.read_blob(digest))
    for descriptor in (manifest["config"], *manifest["layers"]):
        data = reader.read_blob(descriptor["digest"])
        assert descriptor["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
        assert descriptor["size"] == len(data)
    config = json.loads(reader.read_blob(manifest["config"]["digest"]))
    layer = gzip.decompress(reader.read_blob(manifest["layers"][0]["digest"]))
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    assert (config["architecture"], config["os"]) == ("amd64", "linux")
    assert config["config"]["Entrypoint"] == ["/bin/tool"]
    assert config["config"]["User"] == "65535"


def test_files_keep_mode_links_and_no_owner(program: Path, tmp_path: Path) -> None:
    digest = write_image(make_image(program), [REFERENCE], tmp_path / "image.tar")
    reader = ImageReader(tmp_path / "image.tar")
    layer = reader.read_blob(json.loads(reader.read_blob(digest))["layers"][0]["digest"])
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        found = {each.name: each for each in tar}
    assert found["bin/tool"].mode == 0o755
    assert found["tmp"].isdir()
    assert found["tmp"].mode == 0o1777
    assert found["sh"].linkname == "bin/tool"
    assert {(each.uid, each.gid, each.mtime) for each in found.values()} == {(0, 0, 0)}


def test_one_image_can_have_several_names(program: Path, tmp_path: Path) -> None:
    names = [REFERENCE, "vendor.example/tool:1.0"]
    write_image(make_image(program), names, tmp_path / "image.tar")
    assert ImageReader(tmp_path / "image.tar").references() == names


def test_a_cut_off_image_is_refused_with_the_way_out(program: Path, tmp_path: Path) -> None:
    digest = write_image(make_image(program), [REFERENCE], tmp_path / "image.tar")
    with pytest.raises(LabError, match="not a whole image archive") as caught:
        ImageReader(tmp_path / "image.tar").read_blob(digest.replace(digest[-4:], "0000"))
    assert "remove it from the cache" in caught.value.hint


def test_an_archive_is_the_same_bytes_for_the_same_files(program: Path) -> None:
    first, second = io.BytesIO(), io.BytesIO()
    items = [Item(name="./bridge", source=program), Item(name="./portmap", source=program)]
    write_tar_gz(first, items)
    os.utime(program, (1, 1))
    write_tar_gz(second, reversed(items))
    assert first.getvalue() == second.getvalue()
    first.seek(0)
    with tarfile.open(fileobj=first) as tar:
        assert tar.getnames() == ["./bridge", "./portmap"]


def test_a_reference_splits_at_its_port_and_its_tag() -> None:
    assert split_reference("registry.example:5000/a/b:1.0") == ("registry.example:5000", "a/b", "1.0")
