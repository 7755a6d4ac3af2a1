"""Packages: nothing of the user's is upgraded, removed, or purged by the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flexnode.errors import FlexError
from flexnode.host.fake import FakeHost
from flexnode.resources.state import Packages
from unit.resources.samples import Managed, manage

WANT = Packages(installed=("conntrack", "socat"))


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


@pytest.fixture
def managed(host: FakeHost, tmp_path: Path) -> Managed:
    return manage(host, "packages:tools", WANT, tmp_path)


def refusal(act: Callable[[], object]) -> FlexError:
    with pytest.raises(FlexError) as caught:
        act()
    return caught.value


def put(managed: Managed) -> None:
    managed.handler.put(managed.host, managed.name, managed.want, managed.contents)


def test_all_that_will_be_new_is_recorded_before_it_is_installed(managed: Managed) -> None:
    assert managed.find() == Packages(absent=("conntrack", "libnetfilter-conntrack3", "socat"))


def test_packages_of_the_user_are_not_recorded(host: FakeHost, managed: Managed) -> None:
    host.packages.present.update({"socat", "libnetfilter-conntrack3"})
    assert managed.find() == Packages(installed=("socat",), absent=("conntrack",))


@pytest.mark.parametrize("act", [Managed.converge, put], ids=["converge", "put"])
def test_an_upgrade_or_a_removal_is_refused_and_named(
    host: FakeHost, managed: Managed, act: Callable[[Managed], object]
) -> None:
    host.packages.upgrades["conntrack"] = ("libc6",)
    host.packages.removes["socat"] = ("netcat",)
    error = refusal(lambda: act(managed))
    assert (error.code, error.transient) == ("package/would-upgrade", False)
    assert "upgrade libc6 and remove netcat" in error.message
    assert error.hint
    assert host.writes == []


def test_a_package_that_needs_more_than_was_recorded_is_not_installed(
    host: FakeHost, managed: Managed
) -> None:
    """It could not be purged again: nobody would know that it came with the node."""
    found = managed.find()
    host.packages.archive["socat"] = ("libssl3",)
    host.packages.archive["libssl3"] = ()
    error = refusal(lambda: managed.handler.preserve(host, managed.name, found, managed.contents))
    assert (error.code, error.transient) == ("package/changed-meanwhile", True)
    assert "libssl3" in error.message


def test_an_unknown_package_is_an_error_of_the_change_and_not_of_looking(
    host: FakeHost, managed: Managed
) -> None:
    """A node whose package the user purged must be able to leave without a package archive."""
    host.packages.archive.clear()
    assert managed.find() == Packages(absent=("conntrack", "socat"))
    assert refusal(managed.converge).code == "package/unknown"
    assert host.writes == []


def test_an_unreachable_archive_is_an_error_that_a_retry_can_mend(host: FakeHost, managed: Managed) -> None:
    host.packages.reachable = False
    assert refusal(managed.converge).transient
    host.packages.reachable = True
    managed.converge()
    assert managed.is_as_wanted()


def test_undo_purges_what_came_with_the_node_and_nothing_else(host: FakeHost, managed: Managed) -> None:
    host.packages.present.add("socat")
    before = managed.converge()
    assert before is not None
    host.packages.install(["ethtool"])  # by the user, meanwhile
    host.writes.clear()
    managed.undo(before)
    assert sorted(host.writes) == ["purge conntrack", "purge libnetfilter-conntrack3"]


def test_what_the_users_packages_have_come_to_need_stays(host: FakeHost, managed: Managed) -> None:
    before = managed.converge()
    assert before is not None
    host.packages.archive["monitor"] = ("conntrack",)
    host.packages.install(["monitor"])
    managed.undo(before)
    assert host.packages.installed(["monitor", "conntrack", "libnetfilter-conntrack3", "socat"]) == {
        "monitor",
        "conntrack",
        "libnetfilter-conntrack3",
    }
    assert managed.is_as_wanted(before)


def test_undo_installs_nothing_that_the_user_removed(host: FakeHost, managed: Managed) -> None:
    host.packages.present.add("socat")
    before = managed.converge()
    assert before is not None
    host.packages.purge(["socat", "conntrack"])
    managed.undo(before)
    assert host.packages.installed(["socat", "conntrack", "libnetfilter-conntrack3"]) == frozenset()
