"""However often a node changes, leaving gives back exactly the machine that was there before."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flexnode.generation import Generation, Result, compose
from flexnode.host.fake import FakeHost
from flexnode.resources import Resource
from flexnode.resources.state import (
    Directory,
    File,
    Group,
    Link,
    Module,
    Packages,
    State,
    Swap,
    Sysctl,
    Text,
    Unit,
)
from unit.generation.samples import CONTAINERD_UNIT, Lab

PATHS = ("/etc/a", "/etc/b", "/etc/d", "/opt/new")
contents = st.sampled_from(["one\n", "two\n"]).map(lambda text: Text(text=text))
files = st.builds(File, content=contents, mode=st.sampled_from([0o600, 0o644, 0o755]))
links = st.builds(Link, target=st.sampled_from(["/etc/hosts", "nowhere"]))
directories = st.builds(Directory, mode=st.sampled_from([0o700, 0o755]))
flags = st.sampled_from([None, True, False])


def at_path(path: str) -> st.SearchStrategy[list[Resource]]:
    """Nothing, a file, a link, or a directory with perhaps something in it."""
    inside = files.map(
        lambda want: Resource(key=f"file:{path}/inside", want=want, after=(f"directory:{path}",))
    )
    return st.one_of(
        st.just([]),
        files.map(lambda want: [Resource(key=f"file:{path}", want=want)]),
        links.map(lambda want: [Resource(key=f"link:{path}", want=want)]),
        st.tuples(directories, st.lists(inside, max_size=1)).map(
            lambda pair: [Resource(key=f"directory:{path}", want=pair[0]), *pair[1]]
        ),
    )


def perhaps(key: str, wants: st.SearchStrategy[State]) -> st.SearchStrategy[list[Resource]]:
    return st.one_of(st.just([]), wants.map(lambda want: [Resource(key=key, want=want)]))


others = st.tuples(
    perhaps(
        "sysctl:vm.overcommit_memory", st.sampled_from(["0", "1", "2"]).map(lambda value: Sysctl(value=value))
    ),
    perhaps("module:overlay", st.just(Module())),
    perhaps("swap:all", st.just(Swap())),
    perhaps("group:node", st.just(Group())),
    perhaps(
        "packages:tools",
        st.lists(st.sampled_from(["conntrack", "curl", "socat"]), min_size=1, unique=True).map(
            lambda names: Packages(installed=tuple(sorted(names)))
        ),
    ),
    perhaps("unit:theirs.service", st.builds(Unit, enabled=flags, active=flags, masked=st.booleans())),
    st.one_of(
        st.just([]),
        st.builds(Unit, enabled=flags, active=flags).map(
            lambda want: [
                Resource(
                    key="file:/etc/systemd/system/ours.service",
                    want=File(content=Text(text=CONTAINERD_UNIT)),
                    restarts=("ours.service",),
                ),
                Resource(
                    key="unit:ours.service", want=want, after=("file:/etc/systemd/system/ours.service",)
                ),
            ]
        ),
    ),
)
generations = st.tuples(
    *map(at_path, PATHS), others.map(lambda parts: [each for part in parts for each in part])
).map(lambda parts: compose(each for part in parts for each in part))


def make_host() -> FakeHost:
    host = FakeHost()
    host.files.place("/etc/a", "the user's\n", mode=0o640, xattrs={"user.note": b"mine"})
    host.files.place_link("/etc/b", "/etc/hosts")
    host.files.place_directory("/etc/d", mode=0o711)
    host.kernel.swap.append("/dev/sda2")
    host.units.place("theirs.service", enabled=True, active=True)
    return host


@given(nodes=st.lists(generations.filter(lambda node: bool(node.resources)), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_leaving_undoes_any_sequence_of_generations(nodes: list[Generation]) -> None:
    host = make_host()
    original = host.snapshot(times=True)
    with TemporaryDirectory() as folder:
        lab = Lab(Path(folder) / "state", host=host)
        for node in nodes:
            outcome = lab.activation.activate(node)
            assert outcome.result in (Result.CONFIRMED, Result.UNCHANGED), outcome.failure
            host.writes.clear()
            assert lab.activation.activate(node).result is Result.UNCHANGED
            assert host.writes == []
        outcome = lab.activation.activate(Generation())
        assert (outcome.result, outcome.kept) == (Result.LEFT, ())
    assert host.snapshot(times=True) == original
