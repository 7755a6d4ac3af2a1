"""What gets written onto a machine was verified before, and secrets reach nothing but their file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from flexnode.artifacts import Store
from flexnode.errors import ArtifactError, GenerationError
from flexnode.generation import StateDirectory, StoredContents
from flexnode.generation.contents import referenced_files, referenced_members
from flexnode.resources.state import Blob, Member, Secret, Text
from flexnode.secret import Secret as SecretValue
from unit.generation.samples import CONTAINERD, KUBELETS, PAUSE, make_archive, make_node, sha256

CTR = Member(artifact=sha256(CONTAINERD), path="bin/ctr")


def put(store: Store, data: bytes) -> str:
    path = store.path(sha256(data))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return sha256(data)


@pytest.fixture
def contents(tmp_path: Path) -> StoredContents:
    return StoredContents(
        StateDirectory(root=tmp_path / "state"), secrets={"token": lambda: SecretValue("s3cret")}
    )


def read(found: bytes | Path) -> bytes:
    return found if isinstance(found, bytes) else found.read_bytes()


def test_a_text_is_itself(contents: StoredContents) -> None:
    assert contents.resolve(Text(text="né\n")) == "né\n".encode()
    assert contents.digest(Text(text="né\n")) == sha256("né\n".encode())


def test_a_secret_is_filled_in_when_it_is_written(contents: StoredContents) -> None:
    content = Secret(template="token: {{token}}, {{other}}\n", names=("token",))
    assert contents.resolve(content) == b"token: s3cret, {{other}}\n"
    assert contents.digest(content) == sha256(b"token: s3cret, {{other}}\n")


def test_a_secret_that_looks_like_a_reference_is_written_as_it_is(tmp_path: Path) -> None:
    secrets = {"a": lambda: SecretValue("{{b}}"), "b": lambda: SecretValue("B")}
    contents = StoredContents(StateDirectory(root=tmp_path), secrets=secrets)
    assert contents.resolve(Secret(template="{{a}}{{b}}", names=("a", "b"))) == b"{{b}}B"


def test_a_secret_from_nowhere_is_an_error_that_names_it(contents: StoredContents) -> None:
    with pytest.raises(GenerationError, match="secret password") as caught:
        contents.resolve(Secret(template="{{password}}", names=("password",)))
    assert caught.value.code == "generation/unknown-secret"


def test_a_member_is_unpacked_once_and_known_by_its_digest_from_then_on(contents: StoredContents) -> None:
    put(contents.store, CONTAINERD)
    assert contents.digest(CTR) == ""
    assert read(contents.resolve(CTR)) == b"ctr 2"
    assert contents.digest(CTR) == sha256(b"ctr 2")
    contents.store.remove(CTR.artifact)
    assert read(contents.resolve(CTR)) == b"ctr 2"


def test_a_member_whose_digest_the_catalog_knows_needs_no_unpacking_to_be_compared(
    contents: StoredContents,
) -> None:
    known = Member(artifact="0" * 64, path="x", sha256="1" * 64)
    assert contents.digest(known) == "1" * 64


def test_a_member_that_rotted_is_unpacked_again(contents: StoredContents) -> None:
    put(contents.store, CONTAINERD)
    path = contents.resolve(CTR)
    assert isinstance(path, Path)
    path.chmod(0o644)
    path.write_bytes(b"rotten")
    assert read(contents.resolve(CTR)) == b"ctr 2"


def test_a_member_that_rotted_beyond_repair_is_not_used(contents: StoredContents) -> None:
    put(contents.store, CONTAINERD)
    path = contents.resolve(CTR)
    assert isinstance(path, Path)
    path.chmod(0o644)
    path.write_bytes(b"rotten")
    contents.store.remove(CTR.artifact)
    with pytest.raises(ArtifactError) as caught:
        contents.resolve(CTR)
    assert caught.value.code == "artifact/not-staged"


def test_a_member_that_is_not_what_the_catalog_says_is_refused(contents: StoredContents) -> None:
    put(contents.store, CONTAINERD)
    lie = Member(artifact=CTR.artifact, path=CTR.path, sha256="2" * 64)
    with pytest.raises(ArtifactError) as caught:
        contents.resolve(lie)
    assert caught.value.code == "artifact/digest-mismatch"


def test_more_members_of_an_archive_join_the_ones_before(contents: StoredContents) -> None:
    put(contents.store, CONTAINERD)
    first = contents.resolve(CTR)
    second = contents.resolve(Member(artifact=CTR.artifact, path="bin/containerd"))
    assert read(first) == b"ctr 2"
    assert read(second) == b"containerd 2"


def test_a_damaged_index_is_made_anew(contents: StoredContents, tmp_path: Path) -> None:
    put(contents.store, CONTAINERD)
    contents.resolve(CTR)
    (index,) = (tmp_path / "state/store/members/index").glob("*.json")
    index.write_bytes(b"{")
    assert contents.digest(CTR) == ""
    assert read(contents.resolve(CTR)) == b"ctr 2"


def test_an_archive_that_is_no_archive_is_a_file(contents: StoredContents) -> None:
    digest = put(contents.store, b"a binary")
    assert read(contents.resolve(Member(artifact=digest))) == b"a binary"
    assert contents.digest(Member(artifact=digest)) == digest


def test_kept_bytes_come_back_and_are_stored_once(contents: StoredContents, tmp_path: Path) -> None:
    blob = contents.keep(b"the user's")
    assert blob == Blob(sha256=sha256(b"the user's"))
    (tmp_path / "file").write_bytes(b"the user's")
    assert contents.keep(tmp_path / "file") == blob
    path = contents.resolve(blob)
    assert read(path) == b"the user's"
    assert isinstance(path, Path)
    assert path.stat().st_mode & 0o7777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == [blob.sha256]


def test_kept_bytes_that_rotted_are_not_put_back(contents: StoredContents) -> None:
    blob = contents.keep(b"the user's")
    path = contents.resolve(blob)
    assert isinstance(path, Path)
    path.write_bytes(b"rotten")
    with pytest.raises(ArtifactError):
        contents.resolve(blob)
    assert contents.keep(b"the user's") == blob
    assert read(contents.resolve(blob)) == b"the user's"


def test_nothing_is_removed_from_a_store_that_others_use_too(tmp_path: Path) -> None:
    directory = StateDirectory(root=tmp_path / "state")
    assert StoredContents(directory).owns_store
    assert not StoredContents(directory, store=Store(tmp_path / "shared")).owns_store


def test_a_generation_refers_to_all_that_it_installs() -> None:
    node = make_node()
    assert referenced_files(node) == {
        sha256(CONTAINERD),
        sha256(PAUSE),
        sha256(KUBELETS["1.34.0"]),
    }
    assert referenced_members(node) == (Member(artifact=sha256(CONTAINERD), path="bin/containerd"),)


def test_what_an_unpacking_takes_is_known_before(contents: StoredContents) -> None:
    packed = gzip.compress(make_archive({"a": b"x" * 5000}), mtime=0)
    size = len(make_archive({"a": b"x" * 5000}))
    assert contents.members.size_unpacked(put(contents.store, packed)) == size
    assert contents.members.size_unpacked(put(contents.store, CONTAINERD)) == len(CONTAINERD)
