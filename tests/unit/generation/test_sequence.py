"""What goes makes room before what comes, what is new finds its ground, and each unit has one turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flexnode.generation import Generation, compose
from flexnode.generation.sequence import Past, Step, find_turns, order_steps, unknown_resource
from flexnode.resources import Resource
from flexnode.resources.state import (
    Absent,
    Directory,
    File,
    Image,
    Link,
    Module,
    Owned,
    Packages,
    State,
    Text,
    Unit,
)

WANTS: dict[str, State] = {
    "file": File(content=Text(text="")),
    "link": Link(target="/x"),
    "directory": Directory(),
    "unit": Unit(enabled=True, active=True),
    "packages": Packages(installed=("a",)),
    "image": Image(archive="0" * 64),
    "module": Module(),
    "owned": Owned(trees=("/var/lib/x",)),
}


def resource(key: str, *after: str, **rest: Any) -> Resource:
    return Resource(key=key, want=WANTS[key.partition(":")[0]], after=after, **rest)


def generation(*resources: Resource | str) -> Generation:
    return compose(each if isinstance(each, Resource) else resource(each) for each in resources)


def originally_absent(_key: str) -> State | None:
    return Absent()


def steps(
    target: Generation,
    *before: Generation,
    original: Callable[[str], State | None] = originally_absent,
    exists: tuple[str, ...] = (),
    **past: Any,
) -> tuple[Step, ...]:
    current, *tried = before or (None,)
    history = Past(current=current, tried=tuple(each for each in tried if each), original=original, **past)
    return order_steps(target, history, expired=lambda path: path in exists)


def told(ordered: tuple[Step, ...]) -> list[str]:
    return [f"-{step.key}" if step.returning else step.key for step in ordered]


def test_a_new_node_comes_in_the_order_of_its_generation() -> None:
    assert told(steps(generation("directory:/a", "file:/a/b", "unit:c"))) == [
        "directory:/a",
        "file:/a/b",
        "unit:c",
    ]


def test_leaving_is_the_exact_reverse_of_coming() -> None:
    node = generation("packages:t", "directory:/a", "file:/a/b", "unit:c", "image:i", "owned:pods")
    assert told(steps(Generation(), node)) == [
        "-owned:pods",
        "-image:i",
        "-unit:c",
        "-file:/a/b",
        "-directory:/a",
        "-packages:t",
    ]


def test_what_goes_makes_room_before_the_new_comes() -> None:
    """An old unit may hold the port, an old package the path, that the new ones need."""
    old = generation("packages:old", "file:/etc/old", "unit:old", "file:/etc/both")
    new = generation("file:/etc/both", "unit:new")
    assert told(steps(new, old)) == [
        "-unit:old",
        "-file:/etc/old",
        "-packages:old",
        "file:/etc/both",
        "unit:new",
    ]


def test_directories_and_images_go_when_the_new_is_there() -> None:
    old = generation("directory:/d", "file:/d/old", "image:old")
    new = generation("file:/d/new", "image:new")
    assert told(steps(new, old)) == [
        "-file:/d/old",
        "file:/d/new",
        "image:new",
        "-image:old",
        "-directory:/d",
    ]


def test_what_a_late_leaver_depends_on_waits_for_it() -> None:
    """An image cannot be removed from a runtime that has been stopped."""
    old = generation(
        "packages:base",
        resource("file:/unit", "packages:base"),
        resource("unit:runtime", "file:/unit"),
        resource("image:old", "unit:runtime"),
        "unit:other",
    )
    assert told(steps(generation("unit:new"), old)) == [
        "-unit:other",
        "unit:new",
        "-image:old",
        "-unit:runtime",
        "-file:/unit",
        "-packages:base",
    ]


def test_a_path_that_becomes_another_kind_is_taken_over_and_not_put_back_in_between() -> None:
    old = generation("link:/bin/tool")
    (step,) = steps(generation("file:/bin/tool"), old)
    assert (step.key, step.returning, step.heir_of) == ("file:/bin/tool", False, "link:/bin/tool")


def test_what_was_in_a_directory_goes_before_a_file_takes_its_place() -> None:
    old = generation("directory:/p", "file:/p/x")
    assert told(steps(generation("file:/p"), old)) == ["-file:/p/x", "file:/p"]


def test_what_the_product_never_changed_is_not_put_back() -> None:
    """A baked image carries no ledger: what lay in it stays, ready for the next bootstrap."""
    node = generation("file:/baked", "file:/ours")
    ours = {"file:/ours": Absent()}
    assert told(steps(Generation(), node, original=ours.get)) == ["-file:/ours"]


def test_owned_state_leaves_although_nothing_is_known_of_what_was_before() -> None:
    (step,) = steps(Generation(), generation("owned:x"), original=lambda _key: None)
    assert step.goal == Owned(trees=("/var/lib/x",), left=True)


def test_what_was_tried_and_not_confirmed_goes_too_and_goes_first() -> None:
    current, tried = generation("file:/a", "unit:a"), generation("file:/a", "unit:a", "unit:tried")
    assert told(steps(Generation(), current, tried)) == ["-unit:tried", "-unit:a", "-file:/a"]


def test_everything_that_the_product_ever_wanted_of_a_file_is_its_own() -> None:
    current = compose([Resource(key="file:/a", want=File(content=Text(text="1")))])
    tried = compose([Resource(key="file:/a", want=File(content=Text(text="2")))])
    (step,) = steps(Generation(), current, tried)
    assert step.ours == (File(content=Text(text="1")), File(content=Text(text="2")))


def test_a_credential_of_the_join_goes_once_it_did_its_work_and_nobody_restarts_for_it() -> None:
    node = generation(
        resource("file:/token", until="/cert", restarts=("kubelet.service",)), "unit:kubelet.service"
    )
    assert told(steps(node, node)) == ["file:/token", "unit:kubelet.service"]
    gone = steps(node, node, exists=("/cert",))
    assert told(gone) == ["-file:/token", "unit:kubelet.service"]
    assert gone[0].resource.restarts == ()


def test_directories_that_had_to_stay_go_at_the_very_end_deepest_first() -> None:
    others = tuple(unknown_resource(key) for key in ("directory:/a", "directory:/a/b"))
    assert told(steps(Generation(), generation("unit:u"), others=others)) == [
        "-unit:u",
        "-directory:/a/b",
        "-directory:/a",
    ]


def turns(*resources: Resource) -> dict[int, tuple[str, ...]]:
    return dict(find_turns(steps(compose(resources))))


def test_a_unit_has_its_turn_when_all_that_it_reads_is_there() -> None:
    restarts = ("u.service",)
    config = resource("file:/config", restarts=restarts)
    late = resource("file:/late", restarts=restarts)
    assert turns(config, resource("unit:u.service"), resource("image:i")) == {1: ("u.service",)}
    assert turns(config, resource("unit:u.service"), late) == {2: ("u.service",)}
    assert turns(config, resource("file:/other"), late) == {2: ("u.service",)}


def test_units_take_turns_in_their_own_order() -> None:
    both = resource("file:/config", restarts=("kubelet.service", "containerd.service"))
    ordered = turns(resource("unit:containerd.service"), resource("unit:kubelet.service"), both)
    assert ordered == {2: ("containerd.service", "kubelet.service")}


def test_a_unit_sees_a_drop_in_go_before_it_is_restarted_once() -> None:
    restarts = ("u.service",)
    old = compose([resource("file:/drop-in", restarts=restarts), resource("unit:u.service")])
    new = compose([resource("file:/config", restarts=restarts), resource("unit:u.service")])
    ordered = steps(new, old)
    assert told(ordered) == ["-file:/drop-in", "file:/config", "unit:u.service"]
    assert find_turns(ordered) == {2: restarts}
