"""Whatever goes wrong while files are fetched and unpacked, the node that runs does not notice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from flexnode.artifacts import Store
from flexnode.errors import ArtifactError, FlexError
from flexnode.generation import Need, StateDirectory, StoredContents, compose, fetch_nothing
from flexnode.generation.stage import stage
from flexnode.resources import Resource
from flexnode.resources.state import Blob, File
from unit.generation.samples import CONTAINERD, KUBELETS, ORIGIN, PAUSE, Lab, make_node, sha256

NODE = make_node()


class Origin:
    """Brings what it is asked for, and remembers what that was."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.asked: list[str] = []

    def __call__(self, needs: Sequence[Need], /) -> None:
        for need in needs:
            self.asked.append(need.name)
            path = self._store.path(need.sha256)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(ORIGIN[need.sha256])


def contents_in(folder: Path, *, free: int = 1 << 40) -> StoredContents:
    directory = StateDirectory(root=folder / "state")
    return StoredContents(directory, store=Store(directory.store, free=lambda _path: free))


def test_what_is_there_already_is_not_fetched_again(tmp_path: Path) -> None:
    contents = contents_in(tmp_path)
    origin = Origin(contents.store)
    stage(NODE, contents, origin)
    assert origin.asked == ["containerd 2", "kubelet 1.34.0", "pause 3.10"]
    origin.asked.clear()
    stage(make_node(kubelet="1.35.0"), contents, origin)
    assert origin.asked == ["kubelet 1.35.0"]


def test_a_staged_generation_needs_no_network_and_no_archive(tmp_path: Path) -> None:
    contents = contents_in(tmp_path)
    stage(NODE, contents, Origin(contents.store))
    stage(NODE, contents, fetch_nothing)
    for resource in NODE.resources:
        if isinstance(resource.want, File) and not resource.until:
            assert contents.digest(resource.want.content)


def test_what_no_source_brought_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="containerd 2") as caught:
        stage(NODE, contents_in(tmp_path), fetch_nothing)
    assert caught.value.code == "artifact/not-staged"


def test_a_file_that_is_neither_fetched_nor_kept_is_missed_before_anything_changes(tmp_path: Path) -> None:
    contents = contents_in(tmp_path)
    blob = contents.keep(b"mine")
    resources = [Resource(key="file:/a", want=File(content=blob))]
    stage(compose(resources), contents, fetch_nothing)
    resources.append(Resource(key="file:/b", want=File(content=Blob(sha256="9" * 64))))
    with pytest.raises(ArtifactError) as caught:
        stage(compose(resources), contents, fetch_nothing)
    assert caught.value.code == "artifact/not-staged"


@pytest.mark.parametrize("free", [0, len(CONTAINERD) - 100])
def test_a_full_disk_is_told_with_what_is_missing_before_anything_is_unpacked(
    tmp_path: Path, free: int
) -> None:
    contents = contents_in(tmp_path, free=free)
    with pytest.raises(ArtifactError, match=r"needs .* more") as caught:
        stage(NODE, contents, Origin(contents.store))
    assert caught.value.code == "artifact/no-space"
    assert caught.value.transient
    assert not list(contents.members.path("0" * 64).parent.glob("*"))


def test_room_for_installing_is_asked_for_too(tmp_path: Path) -> None:
    """Unpacking may just fit, and the node break in the middle of its upgrade."""
    contents = contents_in(tmp_path)
    stage(NODE, contents, Origin(contents.store))
    installed = len(KUBELETS["1.34.0"]) + len(b"containerd 2")
    tight = contents_in(tmp_path, free=installed)
    stage(NODE, tight, fetch_nothing)
    with pytest.raises(ArtifactError, match="needs 1 B more"):
        stage(NODE, contents_in(tmp_path, free=installed - 1), fetch_nothing)
    stage(NODE, contents_in(tmp_path, free=0), fetch_nothing, known=[NODE])


def test_a_failed_staging_leaves_the_machine_and_its_state_untouched(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "state")
    lab.activation.activate(NODE)
    before, memory = lab.host.snapshot(times=True), lab.memory()
    lab.online = False
    lab.host.writes.clear()
    with pytest.raises(FlexError, match="no source") as caught:
        lab.activation.activate(make_node(kubelet="1.35.0"))
    assert caught.value.code == "artifact/connect-failed"
    assert lab.host.writes == []
    assert lab.host.snapshot(times=True) == before
    assert lab.memory() == memory


def test_staging_ahead_lets_the_upgrade_itself_go_without_network(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "state")
    lab.activation.activate(NODE)
    lab.host.writes.clear()
    lab.activation.stage(make_node(kubelet="1.35.0"))
    assert lab.host.writes == []
    lab.online = False
    assert lab.activation.activate(make_node(kubelet="1.35.0")).result == "confirmed"


def test_the_store_holds_what_two_generations_need_and_no_more(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "state")
    lab.activation.activate(NODE)
    lab.activation.activate(make_node(kubelet="1.35.0"))
    lab.activation.activate(make_node(kubelet="1.35.0", containerd_config="version = 3\nmore = true\n"))
    kept = {sha256(CONTAINERD), sha256(PAUSE), sha256(KUBELETS["1.35.0"])}
    assert set(lab.contents.store.digests()) == kept
    assert len(lab.directory.known_generations()) == 2
