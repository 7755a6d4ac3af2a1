"""What only a real file system can show: durability, what killed writers leave, mounts, depth, full disks."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.clock import FakeClock
from flexnode.digests import Digests
from flexnode.errors import FlexError
from flexnode.host import RootfsHost
from flexnode.host.failures import translate_os_error
from flexnode.host.files import TreeFiles
from flexnode.host.mounts import load_mounts, mount_number, parse_mountinfo, sort_deepest
from flexnode.host.owners import Owners, this_process
from flexnode.host.removal import Removal
from unit.host.programs import Programs, fails

MOUNTINFO = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda1 rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
90 22 0:45 / /var/lib/kubelet/pods/1/volumes/a\\040b rw - tmpfs tmpfs rw
91 22 254:0 /srv/data /var/lib/kubelet/pods/1/volumes/c rw - ext4 /dev/vda1 rw
92 91 0:46 / /var/lib/kubelet/pods/1/volumes/c/deep rw master:1 - tmpfs tmpfs rw
93 22 0:47 / /var/lib/kubeletter rw - tmpfs tmpfs rw
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def files(root: Path) -> TreeFiles:
    return TreeFiles(root=root, owners=this_process(), mounts=lambda: ())


def test_a_killed_writers_left_over_goes_with_the_next_write_of_the_same_file(
    files: TreeFiles, root: Path
) -> None:
    for name in (".a.flexnode-0123456789ab", ".ab.flexnode-0123456789ab", ".a.flexnodes", "b.flexnode-x"):
        (root / name).write_text("half")
    files.write("/a", b"whole", mode=0o600)
    assert sorted(os.listdir(root)) == [".a.flexnodes", ".ab.flexnode-0123456789ab", "a", "b.flexnode-x"]
    files.make_link("/ab", "a")
    assert sorted(os.listdir(root)) == [".a.flexnodes", "a", "ab", "b.flexnode-x"]


def test_a_write_that_fails_half_way_leaves_the_old_file_and_nothing_else(
    files: TreeFiles, root: Path, tmp_path: Path
) -> None:
    files.write("/a", b"old", mode=0o644)
    with pytest.raises(FlexError):
        files.install("/a", tmp_path / "nothing", mode=0o644)
    assert os.listdir(root) == ["a"]
    assert files.read("/a") == b"old"


def test_a_name_of_full_length_can_be_written(files: TreeFiles) -> None:
    name = "/" + "n" * 255
    files.write(name, b"1", mode=0o644)
    assert files.read(name) == b"1"


def test_nobody_else_reads_a_file_before_it_has_its_mode(files: TreeFiles, root: Path) -> None:
    seen = []

    def fill(file: int) -> None:
        seen.append(os.fstat(file).st_mode & 0o777)
        os.write(file, b"secret")

    before = os.umask(0)
    try:
        files._write("/a", fill, mode=0o600, uid=0, gid=0)
    finally:
        os.umask(before)
    assert seen == [0o600]


def test_a_full_disk_says_where_and_how_much_is_left_and_keeps_the_old_file(
    files: TreeFiles, root: Path
) -> None:
    def fill(_file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    files.make_directory("/etc", mode=0o755)
    files.write("/etc/a", b"old", mode=0o644)
    with pytest.raises(FlexError, match=r"/etc has [0-9]+ MiB and [0-9]+ files left") as caught:
        files._write("/etc/a", fill, mode=0o600, uid=0, gid=0)
    assert caught.value.code == "host/no-space"
    assert caught.value.transient
    assert files.read("/etc/a") == b"old"
    assert os.listdir(root / "etc") == ["a"]


@pytest.mark.parametrize(
    ("number", "code", "transient"),
    [
        (errno.ENOENT, "host/no-such-file", False),
        (errno.EROFS, "host/read-only", False),
        (errno.EACCES, "host/permission", False),
        (errno.EPERM, "host/permission", False),
        (errno.ENOSPC, "host/no-space", True),
        (errno.EDQUOT, "host/no-space", True),
        (errno.EBUSY, "host/busy", True),
        (errno.EIO, "host/io-error", False),
    ],
)
def test_every_refusal_of_the_kernel_has_a_code(number: int, code: str, transient: bool) -> None:
    error = translate_os_error(OSError(number, os.strerror(number)), "write /etc/a")
    assert (error.code, error.transient) == (code, transient)
    assert "write /etc/a" in error.message


def test_a_pipe_is_not_waited_for(files: TreeFiles, root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(FlexError) as caught:
        files.read("/pipe")
    assert caught.value.code == "host/not-a-file"
    files.remove("/pipe")
    assert not (root / "pipe").exists()


def test_a_digest_is_never_that_of_an_earlier_content(files: TreeFiles, root: Path) -> None:
    """Within a tick of the clock neither size nor times tell two contents apart."""
    path = root / "a"
    path.write_bytes(b"0000")
    for number in range(300):
        data = f"{number:04}".encode()
        with path.open("r+b") as file:
            file.write(data)
        assert files.digest("/a") == hashlib.sha256(data).hexdigest()


def test_a_digest_of_a_settled_file_is_remembered_where_a_link_leads_to(root: Path) -> None:
    digests = Digests(clock=FakeClock(datetime.now(UTC) + timedelta(hours=1)))
    files = TreeFiles(root=root, owners=this_process(), digests=digests)
    files.write("/a", b"1", mode=0o644)
    files.make_link("/b", "/a")
    assert files.digest("/b") == hashlib.sha256(b"1").hexdigest()
    assert digests.new
    digests.take_stock()
    assert files.digest("/a") == hashlib.sha256(b"1").hexdigest()
    assert not digests.new
    files.write("/a", b"2", mode=0o644)
    assert files.digest("/b") == hashlib.sha256(b"2").hexdigest()


def test_a_tree_deeper_than_open_files_allow_is_removed(files: TreeFiles, root: Path) -> None:
    """A pod may leave one on purpose."""
    top = root / "pods"
    top.mkdir()
    folder = os.open(top, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("deeper", dir_fd=folder)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    assert files.remove_tree("/pods") == []
    assert os.listdir(root) == []


def test_a_mount_is_kept_with_all_that_leads_to_it(root: Path) -> None:
    for path in ("t/a/mounted/data", "t/a/other/x", "t/b/y"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("1")
    inside = os.stat(root / "t/a/mounted").st_ino
    folder = os.open(root, os.O_RDONLY)
    try:
        removal = Removal(
            folder, "t", "/t", number=lambda each: "other" if os.fstat(each).st_ino == inside else "same"
        )
        removal.run()
    finally:
        os.close(folder)
    assert removal.kept == ["/t/a/mounted"]
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*")) == [
        "t",
        "t/a",
        "t/a/mounted",
        "t/a/mounted/data",
    ]


def test_a_real_mount_is_told_from_what_it_is_mounted_on() -> None:
    outer, inner = os.open("/", os.O_PATH), os.open("/proc", os.O_PATH)
    try:
        assert mount_number(outer)
        assert mount_number(outer) != mount_number(inner)
        removal = Removal(outer, "proc", "/proc")  # nothing of /proc could be removed, even if this failed
        removal.run()
    finally:
        os.close(outer)
        os.close(inner)
    assert removal.kept == ["/proc"]
    assert "/proc" in load_mounts()


def test_mounts_are_those_below_the_machines_own_root_deepest_first(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    for folder in ("var/lib/kubelet", "var/lib/kubeletter", "var/run"):
        (root / folder).mkdir(parents=True)
    (root / "kubelet").symlink_to("/var/lib/kubelet")
    points = [str(root) + point for point in parse_mountinfo(MOUNTINFO) if point.startswith("/var")]
    files = TreeFiles(root=root, owners=this_process(), mounts=lambda: (*points, "/var/lib/kubelet/outside"))
    wanted = [
        "/var/lib/kubelet/pods/1/volumes/c/deep",
        "/var/lib/kubelet/pods/1/volumes/a b",
        "/var/lib/kubelet/pods/1/volumes/c",
    ]
    assert files.mounts_below("/var/lib/kubelet") == wanted
    assert files.mounts_below("/kubelet") == wanted


def test_of_mounts_upon_each_other_each_is_listed() -> None:
    assert sort_deepest(["/a", "/a/b", "/a"]) == ["/a/b", "/a", "/a"]


@given(st.text())
def test_no_mount_table_is_a_crash(text: str) -> None:
    assert all(isinstance(point, str) for point in parse_mountinfo(text))


def test_only_what_is_mounted_is_unmounted(root: Path) -> None:
    (root / "var/lib").mkdir(parents=True)
    (root / "var/lib/a").mkdir()
    (root / "run").symlink_to("var")
    programs = Programs()
    point = str(root.resolve() / "var/lib/a")
    files = TreeFiles(root=root.resolve(), owners=this_process(), mounts=lambda: (point,), run=programs.run)
    files.unmount("/var/lib")
    files.unmount("/nothing/here")
    assert programs.lines == []
    files.unmount("/run/lib/a")
    assert programs.lines == [f"umount -c {point}"]


def test_a_busy_mount_says_who_to_ask(root: Path) -> None:
    point = str(root.resolve() / "a")
    (root / "a").mkdir()
    programs = Programs({"umount": [fails(f"umount: {point}: target is busy.", 32)]})
    files = TreeFiles(root=root.resolve(), owners=this_process(), mounts=lambda: (point,), run=programs.run)
    with pytest.raises(FlexError, match="target is busy") as caught:
        files.unmount("/a")
    assert caught.value.code == "host/busy"
    assert caught.value.transient
    assert "fuser -vm /a" in caught.value.hint


def test_who_is_not_root_sees_own_files_as_roots() -> None:
    owners = Owners(uid=1000, gid=100)
    assert owners.inside(1000, 100) == (0, 0)
    assert owners.inside(7, 8) == (7, 8)
    assert owners.outside(0, 0) == (1000, 100)
    assert owners.outside(7, None) == (7, None)
    assert Owners().inside(1000, 0) == (1000, 0)


def test_a_directory_swapped_for_a_link_does_not_lead_a_removal_astray(files: TreeFiles, root: Path) -> None:
    (root / "precious").mkdir()
    (root / "precious/data").write_text("1")
    (root / "t").symlink_to("precious")
    assert files.remove_tree("/t/") == []
    assert (root / "precious/data").exists()


WRITER = """
import sys
from pathlib import Path
from flexnode.host import RootfsHost

files = RootfsHost(Path(sys.argv[1])).files
while True:
    for letter in (b"a", b"b"):
        files.write("/etc/file", letter * 300_000, mode=0o600)
        files.make_link("/etc/link", letter.decode())
"""


def test_a_killed_writer_leaves_the_old_or_the_new_file_never_a_part(root: Path) -> None:
    host = RootfsHost(root)
    host.files.make_directory("/etc", mode=0o755)
    seen = set()
    for number in range(8):
        before = host.files.find("/etc/link")
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(root)])
        try:
            while host.files.find("/etc/link") == before and writer.poll() is None:
                os.sched_yield()
            for _ in range(number * 200):  # not always at the same moment
                host.files.find("/etc/link")
        finally:
            writer.kill()
            writer.wait()
        seen.add(host.files.read("/etc/file"))
        link = host.files.find("/etc/link")
        assert link is not None
        assert link.target in ("a", "b")
    assert seen <= {b"a" * 300_000, b"b" * 300_000}
    host.files.write("/etc/file", b"", mode=0o600)
    host.files.make_link("/etc/link", "c")
    assert sorted(os.listdir(root / "etc")) == ["file", "link"]
