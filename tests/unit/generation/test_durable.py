"""What the product knows about its machine survives power cuts and rot, or is known to be lost."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.errors import StateError
from flexnode.generation import StateDirectory
from flexnode.generation.durable import Damaged, load, save, seal, unseal, write
from unit.generation.samples import make_node


class Sample(msgspec.Struct, frozen=True):
    """Something worth keeping."""

    name: str
    numbers: dict[str, int] = {}


samples = st.builds(Sample, name=st.text(), numbers=st.dictionaries(st.text(), st.integers(-(2**53), 2**53)))


@given(sample=samples)
def test_what_was_kept_comes_back(sample: Sample) -> None:
    assert unseal(seal(sample), Sample, what="it") == sample


@given(sample=samples, data=st.data())
def test_a_file_cut_off_anywhere_is_known_to_be_damaged(sample: Sample, data: st.DataObject) -> None:
    whole = seal(sample)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(Damaged, match="it is damaged"):
        unseal(cut, Sample, what="it")


@given(sample=samples, data=st.data())
def test_a_wrong_byte_anywhere_is_known_to_be_damage_and_never_a_newer_version(
    sample: Sample, data: st.DataObject
) -> None:
    rotten = bytearray(seal(sample))
    at = data.draw(st.integers(0, len(rotten) - 1))
    rotten[at] ^= data.draw(st.integers(1, 255))
    try:
        found = unseal(bytes(rotten), Sample, what="it")
    except Damaged:
        return
    assert found == sample


@given(junk=st.binary(max_size=200))
def test_no_bytes_whatever_are_more_than_damaged(junk: bytes) -> None:
    with pytest.raises(Damaged):
        unseal(junk, Sample, what="it")


def test_a_newer_version_s_state_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    newer = seal({"something": "new"}, schema=2)
    path.write_bytes(newer)
    with pytest.raises(StateError, match="newer aks-flex-node") as caught:
        load(path, Sample)
    assert caught.value.code == "state/newer-version"
    assert not caught.value.transient
    with pytest.raises(StateError, match="newer"):
        save(path, Sample(name="old"), keep_previous=True)
    assert path.read_bytes() == newer
    assert [each.name for each in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize("damage", [b"", b"{", b'{"schema":1}', b"\xff\xfe", None])
def test_the_previous_copy_stands_in_for_a_damaged_one(tmp_path: Path, damage: bytes | None) -> None:
    path = tmp_path / "state.json"
    save(path, Sample(name="first"), keep_previous=True)
    save(path, Sample(name="second"), keep_previous=True)
    path.unlink()
    if damage is not None:
        path.write_bytes(damage)
    loaded = load(path, Sample, previous=True)
    assert loaded.value == Sample(name="first")
    assert "state.json" in loaded.warning


def test_a_damaged_copy_does_not_push_out_a_sound_one(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    save(path, Sample(name="first"), keep_previous=True)
    save(path, Sample(name="second"), keep_previous=True)
    path.write_bytes(b"rotten")
    save(path, Sample(name="third"), keep_previous=True)
    path.write_bytes(b"rotten again")
    assert load(path, Sample, previous=True).value == Sample(name="first")


def test_nothing_there_is_nothing_to_warn_of(tmp_path: Path) -> None:
    loaded = load(tmp_path / "state.json", Sample, previous=True)
    assert loaded.value is None
    assert not loaded.warning


def test_both_copies_damaged_is_a_warning_and_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    save(path, Sample(name="first"), keep_previous=True)
    save(path, Sample(name="second"), keep_previous=True)
    path.write_bytes(b"")
    path.with_name("state.json.previous").write_bytes(b"")
    loaded = load(path, Sample, previous=True)
    assert loaded.value is None
    assert loaded.warning.count(" is damaged: ") == 2


def test_only_root_may_read_it(tmp_path: Path) -> None:
    directory = StateDirectory(root=tmp_path / "var" / "state")
    directory.prepare()
    write(directory.state, b"x")
    assert directory.root.stat().st_mode & 0o7777 == 0o700
    assert directory.state.stat().st_mode & 0o7777 == 0o600


def test_a_directory_that_others_could_enter_is_closed_to_them(tmp_path: Path) -> None:
    directory = StateDirectory(root=tmp_path / "state")
    directory.root.mkdir(mode=0o755)
    directory.prepare()
    assert directory.root.stat().st_mode & 0o7777 == 0o700


def test_what_a_killed_writer_left_is_in_nobody_s_way(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.with_name(".state.json.new").write_bytes(b"half of somet")
    save(path, Sample(name="whole"))
    assert load(path, Sample).value == Sample(name="whole")
    assert [each.name for each in tmp_path.iterdir()] == ["state.json"]


def test_a_generation_in_another_one_s_place_is_not_used(tmp_path: Path) -> None:
    directory = StateDirectory(root=tmp_path)
    node = make_node()
    directory.save_generation(node, "0123456789abcdef")
    loaded = directory.load_generation("0123456789abcdef")
    assert loaded.value is None
    assert node.id in loaded.warning
