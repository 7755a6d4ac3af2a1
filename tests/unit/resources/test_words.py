"""What people read about states and changes before they say yes to them."""

from __future__ import annotations

import pytest

from flexnode.resources import Change, describe_change, render_state
from flexnode.resources.registry import make_handlers
from flexnode.resources.state import (
    Absent,
    Blob,
    Directory,
    File,
    Group,
    Image,
    Kubeconfig,
    Link,
    Member,
    Module,
    Owned,
    Packages,
    Secret,
    State,
    Swap,
    Sysctl,
    Text,
    Unit,
    User,
)
from unit.resources.cases import CASES

DIGEST = "6ae8a75555209fd6c44157c0aed8016e763ff435a19cf186f76863140143ff72"
WHOLE = Owned(
    pods=True, node="n1", trees=("/a", "/b"), links=("cni0",), chains=("KUBE-",), tables=("kube-proxy",)
)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (Absent(), "absent"),
        (File(content=Blob(sha256=DIGEST)), "file 0644 root:root sha256 6ae8a7555520…"),
        (File(content=Text(text=""), mode=0o4755, uid=5, gid=0), "file 4755 5:root sha256 e3b0c44298fc…"),
        (File(content=Member(artifact=DIGEST)), "file 0644 root:root sha256 6ae8a7555520…"),
        (
            File(content=Member(artifact=DIGEST, path="bin/runc")),
            "file 0644 root:root bin/runc of archive sha256 6ae8a7555520…",
        ),
        (
            File(content=Secret(template="{{token}}", names=("token",)), mode=0o600),
            "file 0600 root:root with a credential in it",
        ),
        (Link(target="../x"), "link to ../x"),
        (Directory(mode=0o700, gid=7), "directory 0700 root:7"),
        (Sysctl(value="1"), "1"),
        (Module(), "loaded"),
        (Packages(), "none installed"),
        (Packages(installed=("a",), absent=("b", "c")), "installed: a; not installed: b, c"),
        (Unit(enabled=True, active=True), "enabled, active"),
        (Unit(enabled=False, active=False, masked=True), "masked, disabled, inactive"),
        (Unit(), "as it is"),
        (Swap(), "none in use"),
        (Swap(devices=("/dev/sda2",)), "in use: /dev/sda2"),
        (User(home="/srv"), "user with home /srv and shell /usr/sbin/nologin"),
        (Group(), "group"),
        (Image(), "image"),
        (Image(pull=True), "image from its registry"),
        (Image(archive=DIGEST), "image from archive sha256 6ae8a7555520…"),
        (Kubeconfig(server="https://a:6443"), "leads to https://a:6443"),
        (Owned(), "nothing"),
        (Owned(node="n1"), "node n1"),
        (Owned(trees=("/a",), left=True), "without /a"),
    ],
)
def test_a_state_in_words(state: State, words: str) -> None:
    assert render_state(state) == words


FILE = File(content=Text(text="x"))
FOUND = File(content=Blob(sha256=DIGEST), mtime_ns=1)


@pytest.mark.parametrize(
    ("key", "before", "after", "words"),
    [
        ("file:/etc/x", Absent(), FILE, "write /etc/x"),
        ("file:/etc/x", FOUND, FILE, "write /etc/x"),
        ("file:/etc/x", FILE, FOUND, "put back /etc/x"),
        ("file:/etc/x", FOUND, Absent(), "remove /etc/x"),
        ("link:/etc/x", Absent(), Link(target="y"), "link /etc/x to y"),
        ("link:/etc/x", Link(target="y"), Absent(), "remove /etc/x"),
        ("directory:/etc/x", Absent(), Directory(), "make directory /etc/x"),
        ("directory:/etc/x", Directory(mode=0o777), Directory(), "set directory /etc/x to 0755 root:root"),
        ("directory:/etc/x", Directory(), Absent(), "remove directory /etc/x if it is empty"),
        ("sysctl:a.b", Sysctl(value="0"), Sysctl(value="1"), "set a.b from 0 to 1"),
        ("sysctl:a.b", Absent(), Sysctl(value="1"), "set a.b to 1"),
        ("sysctl:a.b", Sysctl(value="1"), Absent(), "leave a.b as it is until the next boot"),
        ("module:m", Absent(), Module(), "load kernel module m"),
        ("module:m", Module(), Absent(), "unload kernel module m unless it is in use"),
        (
            "packages:tools",
            Packages(installed=("a",), absent=("b", "c", "lib")),
            Packages(installed=("a", "b", "c")),
            "install b, c, with lib",
        ),
        (
            "packages:tools",
            Packages(installed=("a", "b")),
            Packages(installed=("a",), absent=("b", "c")),
            "purge b",
        ),
        ("unit:u", Absent(), Unit(enabled=True, active=True), "enable and start u"),
        (
            "unit:u",
            Unit(enabled=False, active=False, masked=True),
            Unit(enabled=True, active=True),
            "unmask, enable and start u",
        ),
        ("unit:u", Unit(enabled=True, active=True), Absent(), "disable and stop u"),
        ("unit:u", Unit(active=False), Unit(enabled=True, active=True), "start u"),
        ("unit:u", Unit(active=True), Unit(active=False, masked=True), "stop and mask u"),
        ("swap:all", Swap(devices=("/a", "/b")), Swap(), "turn off swap on /a, /b, also after a reboot"),
        ("swap:all", Swap(), Swap(devices=("/a",)), "turn on swap again on /a"),
        ("user:u", Absent(), User(), "create user u"),
        ("user:u", User(), Absent(), "remove user u"),
        ("group:g", Absent(), Group(), "create group g"),
        ("image:i:1", Absent(), Image(archive=DIGEST), "import image i:1"),
        ("image:i:1", Absent(), Image(pull=True), "pull image i:1"),
        ("image:i:1", Image(), Absent(), "remove image i:1"),
        (
            "kubeconfig:/etc/k",
            Kubeconfig(server="https://a"),
            Kubeconfig(server="https://b"),
            "set the server in /etc/k to https://b",
        ),
        (
            "owned:all",
            WHOLE,
            Owned(left=True),
            "stop all pods; delete node n1; remove /a, /b; remove interfaces cni0; "
            "remove packet filter chains KUBE-*; remove nftables tables kube-proxy",
        ),
    ],
)
def test_a_change_as_an_instruction(key: str, before: State, after: State, words: str) -> None:
    assert describe_change(Change(key=key, before=before, after=after)) == words


def test_every_change_of_every_kind_is_one_line() -> None:
    assert {case.key.partition(":")[0] for case in CASES} | {"owned"} == set(make_handlers())
    for case in CASES:
        for before, after in ((Absent(), case.want), (case.want, Absent())):
            words = describe_change(Change(key=case.key, before=before, after=after))
            assert words
            assert "\n" not in words
