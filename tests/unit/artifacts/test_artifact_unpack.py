"""Unpacking writes what was asked for, inside the directory, or nothing."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.artifacts import unpack
from flexnode.artifacts.unpack import safe_path
from flexnode.errors import ArtifactError
from flexnode.model import Member


def entry(name: str, data: bytes = b"", **changes: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    info.mode = 0o755
    for field, value in changes.items():
        setattr(info, field, value)
    return info, data


def archive(path: Path, *entries: tuple[tarfile.TarInfo, bytes], packed: bool = True) -> Path:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data))
    data = buffer.getvalue()
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def refused(path: Path, into: Path, *members: str, limit: int = 1 << 30) -> ArtifactError:
    """The failure of unpacking; nothing may have been written anywhere."""
    before = everything(into.parent)
    with pytest.raises(ArtifactError) as caught:
        unpack(path, [Member(path=name) for name in members], into, limit=limit)
    assert everything(into.parent) == before
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("packed", [True, False], ids=["tar.gz", "tar"])
def test_only_the_named_members_are_unpacked_and_their_digests_returned(tmp_path: Path, packed: bool) -> None:
    path = archive(
        tmp_path / "a",
        entry("./bin", type=tarfile.DIRTYPE),
        entry("./bin/tool", b"tool"),
        entry("./bin/other", b"other"),
        entry("LICENSE", b"text", mode=0o644),
        packed=packed,
    )
    digests = unpack(path, [Member(path="bin/tool"), Member(path="LICENSE")], tmp_path / "into")
    assert everything(tmp_path / "into") == ["LICENSE", "bin", "bin/tool"]
    assert digests["bin/tool"] == hashlib.sha256(b"tool").hexdigest()
    assert (tmp_path / "into/bin/tool").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "into/LICENSE").stat().st_mode & 0o7777 == 0o644


def test_a_member_with_another_digest_than_recorded_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a", entry("tool", b"tool"))
    with pytest.raises(ArtifactError) as caught:
        unpack(path, [Member(path="tool", sha256="0" * 64)], tmp_path / "into")
    assert caught.value.code == "artifact/digest-mismatch"
    assert everything(tmp_path) == ["a"]


def test_a_link_inside_becomes_the_file_it_points_to(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "a",
        entry("lib/real", b"real"),
        entry("bin/link", type=tarfile.SYMTYPE, linkname="../lib/real"),
        entry("hard", type=tarfile.LNKTYPE, linkname="lib/real"),
    )
    unpack(path, [Member(path="bin/link"), Member(path="hard")], tmp_path / "into")
    assert (tmp_path / "into/bin/link").read_bytes() == b"real"
    assert not (tmp_path / "into/bin/link").is_symlink()
    assert (tmp_path / "into/hard").read_bytes() == b"real"


@pytest.mark.parametrize(
    "bad",
    [
        entry("../escape", b"x"),
        entry("a/../../escape", b"x"),
        entry("/etc/passwd", b"x"),
        entry("device", type=tarfile.CHRTYPE),
        entry("disk", type=tarfile.BLKTYPE),
        entry("pipe", type=tarfile.FIFOTYPE),
        entry("setuid", b"x", mode=0o4755),
        entry("setgid", b"x", mode=0o2755),
        entry("out", type=tarfile.SYMTYPE, linkname="/etc/shadow"),
        entry("a/out", type=tarfile.SYMTYPE, linkname="../../etc/shadow"),
        entry("out", type=tarfile.LNKTYPE, linkname="../etc/shadow"),
    ],
    ids=lambda pair: f"{pair[0].name}-{pair[0].type.decode()}-{pair[0].mode:o}",
)
def test_one_dangerous_entry_refuses_the_whole_archive(
    tmp_path: Path, bad: tuple[tarfile.TarInfo, bytes]
) -> None:
    path = archive(tmp_path / "a", entry("tool", b"tool"), bad)
    assert refused(path, tmp_path / "into", "tool").code == "artifact/unsafe-archive"


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "a",
        entry("a", type=tarfile.SYMTYPE, linkname="b"),
        entry("b", type=tarfile.SYMTYPE, linkname="a"),
    )
    assert refused(path, tmp_path / "into", "a").code == "artifact/unsafe-archive"


def test_a_bomb_is_refused_before_it_fills_the_disk(tmp_path: Path) -> None:
    path = archive(tmp_path / "a", entry("tool", b"tool"), entry("bomb", bytes(20_000_000)))
    assert path.stat().st_size < 100_000
    assert refused(path, tmp_path / "into", "tool", limit=1_000_000).code == "artifact/unsafe-archive"


def test_a_member_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = archive(tmp_path / "a", entry("tool", b"tool"), entry("dir", type=tarfile.DIRTYPE))
    assert "missing-tool" in refused(path, tmp_path / "into", "tool", "missing-tool").message
    assert refused(path, tmp_path / "into", "dir").code == "artifact/member-missing"


@pytest.mark.parametrize("data", [b"", b"not an archive", b"\x1f\x8b broken", b"\0" * 100])
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(data)
    assert refused(path, tmp_path / "into", "tool").code in (
        "artifact/bad-archive",
        "artifact/member-missing",
    )


def test_an_archive_that_ends_early_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a", entry("tool", bytes(range(256)) * 4000))
    path.write_bytes(path.read_bytes()[:-200])
    assert refused(path, tmp_path / "into", "tool").code == "artifact/bad-archive"


def test_a_directory_that_holds_something_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "into").mkdir()
    (tmp_path / "into/precious").write_text("mine")
    path = archive(tmp_path / "a", entry("tool", b"tool"))
    assert refused(path, tmp_path / "into", "tool").code == "artifact/store-unwritable"


def test_what_a_killed_run_left_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / ".into.unpacking").mkdir()
    (tmp_path / ".into.unpacking/half").write_text("half")
    path = archive(tmp_path / "a", entry("tool", b"tool"))
    unpack(path, [Member(path="tool")], tmp_path / "into")
    assert everything(tmp_path) == ["a", "into", "into/tool"]


names = st.lists(st.sampled_from(["..", ".", "", "a", "b", "etc"]), min_size=1, max_size=5).map("/".join)


@given(names)
def test_a_safe_path_never_leads_outside(name: str) -> None:
    if name.startswith("/") or ".." in name.split("/"):
        with pytest.raises(ArtifactError, match="leads outside"):
            safe_path(name)
    else:
        inside = Path("/somewhere/inside")
        assert (inside / safe_path(name)).resolve().is_relative_to(inside)


kinds = st.sampled_from([tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE])


@given(st.lists(st.tuples(names, kinds, names), max_size=6), names)
def test_whatever_an_archive_holds_nothing_appears_outside(
    entries: list[tuple[str, bytes, str]], member: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        made = [
            entry(name, b"x" if kind == tarfile.REGTYPE else b"", type=kind, linkname=link)
            for name, kind, link in entries
        ]
        path = archive(root / "a", *made, packed=False)
        (root / "box").mkdir()
        try:
            unpack(path, [Member(path=member)], root / "box" / "into")
        except ArtifactError:
            assert everything(root) == ["a", "box"]
        else:
            outside = [name for name in everything(root) if not name.startswith("box/into")]
            assert outside == ["a", "box"]
            assert not any(item.is_symlink() for item in root.rglob("*"))
