"""Packages come as they were planned, and the machine's own package lists stay as they are."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.clock import FakeClock
from flexnode.errors import FlexError
from flexnode.host import Command, Completed
from flexnode.host.apt import AptPackages
from flexnode.host.apt_words import parse_simulation, parse_status, translate_apt
from flexnode.host.door import Proxies, Transaction
from flexnode.secret import Secret
from unit.host.programs import Programs, fails, make_files, says

SIMULATED = """\
Reading package lists...
Building dependency tree...
NOTE: This is only a simulation!
The following NEW packages will be installed:
  conntrack libnetfilter-conntrack3
Inst libc6 [2.36-9+deb12u8] (2.36-9+deb12u9 Debian:12.9/stable [amd64]) [libc-bin:amd64 ]
Inst libnetfilter-conntrack3 (1.0.9-3 Debian:12.9/stable [amd64])
Inst conntrack (1:1.4.7-1+b2 Debian:12.9/stable [amd64])
Remv other [1.0]
Conf libnetfilter-conntrack3 (1.0.9-3 Debian:12.9/stable [amd64])
Conf conntrack (1:1.4.7-1+b2 Debian:12.9/stable [amd64])
"""

PURGED = "Purg conntrack [1:1.4.7-1+b2]\nPurg kubeadm [1.0]\n"

STATUS = """\
Package: bash
Status: install ok installed
Architecture: amd64
Description: shell
 Status: install ok not-installed

Package: old
Status: deinstall ok config-files

Package: held
Status: hold ok installed

Package: libc6
Status: install ok installed
Architecture: amd64

Package: libc6
Status: deinstall ok config-files
Architecture: i386

Package: waiting
Status: install ok triggers-awaited
"""

UNKNOWN = "E: Unable to locate package conntrack"


def packages(root: Path, programs: Programs, status: str = STATUS) -> AptPackages:
    files = make_files(root, **{"var__lib__dpkg__status": status, "var__cache__keep": ""})
    return AptPackages(files=files, run=programs.run, clock=FakeClock())


def verbs(programs: Programs) -> list[str]:
    """What each command line was about."""
    known = ("--configure", "update", "--simulate", "install", "purge")
    return [next(verb for verb in known if verb in command.argv) for command in programs.commands]


def test_a_simulation_tells_new_from_newer_from_gone() -> None:
    assert parse_simulation(SIMULATED) == Transaction(
        installs=("conntrack", "libnetfilter-conntrack3"), upgrades=("libc6",), removes=("other",)
    )
    assert parse_simulation(PURGED) == Transaction(removes=("conntrack", "kubeadm"))


@given(st.text())
def test_no_answer_of_apt_is_a_crash(text: str) -> None:
    parse_simulation(text)
    parse_status(text)
    assert translate_apt(text, "install x").message.startswith("cannot install x: ")


def test_installed_is_what_works_not_what_left_its_configuration(tmp_path: Path) -> None:
    names = ["bash", "old", "held", "libc6", "waiting", "nothing"]
    found = packages(tmp_path, Programs()).installed(names)
    assert found == {"bash", "held", "libc6", "waiting"}
    assert AptPackages(files=make_files(tmp_path / "empty")).installed(names) == frozenset()


def test_an_install_asks_nobody_and_pulls_in_nothing_that_is_not_needed(tmp_path: Path) -> None:
    programs = Programs()
    packages(tmp_path, programs, "").install(["conntrack"])
    (command,) = programs.commands
    assert command.env["DEBIAN_FRONTEND"] == "noninteractive"
    assert command.env["NEEDRESTART_SUSPEND"] == "1"
    options = set(command.argv)
    assert {"-y", "--no-remove", "--no-install-recommends", "Dpkg::Options::=--force-confold"} <= options
    assert "DPkg::Lock::Timeout=300" in options


def test_apt_is_asked_once_until_something_changes_that_it_looks_at(tmp_path: Path) -> None:
    """It takes seconds to read its lists, and a bootstrap wants to know the same several times."""
    programs = Programs({"--simulate": [says(SIMULATED)]})
    apt = packages(tmp_path, programs)
    assert apt.simulate(["socat", "conntrack"]) == apt.simulate(["conntrack", "socat"])
    assert apt.simulate(["conntrack"]).upgrades == ("libc6",)
    assert verbs(programs) == ["--simulate"] * 2
    for changed in ("var/lib/dpkg/status", "etc/apt/sources.list.d/new.list", "var/lib/apt/lists/fresh"):
        path = tmp_path / changed
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name("next").write_text("changed")
        path.with_name("next").rename(path)
        programs.commands.clear()
        apt.simulate(["conntrack"])
        apt.simulate(["conntrack"])
        assert verbs(programs) == ["--simulate"], changed


def test_dpkgs_table_is_read_again_once_it_changed(tmp_path: Path) -> None:
    apt = packages(tmp_path, Programs())
    for _ in range(2):
        assert apt.installed(["bash", "socat"]) == {"bash"}
    path = tmp_path / "var/lib/dpkg/status"
    path.with_name("status-new").write_text(STATUS.replace("Package: bash", "Package: socat"))
    path.with_name("status-new").rename(path)
    assert apt.installed(["bash", "socat"]) == {"socat"}


def test_unknown_packages_are_looked_up_in_lists_of_our_own_once(tmp_path: Path) -> None:
    programs = Programs({"--simulate": [fails(UNKNOWN, 100), says(SIMULATED)]})
    apt = packages(tmp_path, programs, "")
    assert apt.simulate(["conntrack"]).installs == ("conntrack", "libnetfilter-conntrack3")
    apt.install(["conntrack"])
    assert verbs(programs) == ["--simulate", "update", "--simulate", "install"]
    start = "Dir::State::Lists="
    lists = [[word for word in command.argv if word.startswith(start)] for command in programs.commands]
    assert lists[0] == []
    assert lists[1] == lists[2] == lists[3] != []
    assert "APT::Update::Error-Mode=any" in programs.commands[1].argv


def test_a_list_that_is_out_of_date_is_fetched_anew(tmp_path: Path) -> None:
    words = "E: Failed to fetch http://archive.test/c.deb  404  Not Found [IP: 192.0.2.1 80]"
    programs = Programs({"install": [fails(words, 100), says("")]})
    packages(tmp_path, programs, "").install(["conntrack"])
    assert verbs(programs) == ["install", "update", "install"]


def test_a_package_that_no_list_knows_is_a_failure_with_its_name(tmp_path: Path) -> None:
    programs = Programs({"--simulate": [fails(UNKNOWN, 100)]})
    with pytest.raises(FlexError, match="Unable to locate package conntrack") as caught:
        packages(tmp_path, programs).simulate(["conntrack"])
    assert (caught.value.code, caught.value.transient) == ("package/unknown", False)
    assert verbs(programs) == ["--simulate", "update", "--simulate"]


def test_lists_of_our_own_go_with_the_process_and_those_of_a_killed_one_before(tmp_path: Path) -> None:
    programs = Programs({"--simulate": [fails(UNKNOWN, 100), says("")]})
    apt = packages(tmp_path, programs, "")
    cache = tmp_path / "var/cache"
    (cache / "aks-flex-node-apt-999999999").mkdir()
    apt.simulate(["conntrack"])
    (own,) = [path for path in cache.iterdir() if path.name != "keep"]
    assert (own / "lists/partial").is_dir()
    del apt
    assert [path.name for path in cache.iterdir()] == ["keep"]


def test_package_files_are_laid_where_apt_can_read_them(tmp_path: Path) -> None:
    deb = tmp_path / ("0" * 64)
    deb.write_bytes(b"package")
    programs = Programs()
    root = tmp_path / "root"
    root.mkdir()
    apt = packages(root, programs, "")
    apt.install(["conntrack"], [deb])
    offered = "APT::Sources::With::="
    (path,) = [word.removeprefix(offered) for word in programs.commands[0].argv if word.startswith(offered)]
    assert path.startswith("/var/cache/aks-flex-node-apt-")
    assert path.endswith(".deb")
    assert (root / path[1:]).read_bytes() == b"package"


def test_with_package_files_no_archive_is_asked(tmp_path: Path) -> None:
    """A machine without a network would wait for each of them, and fail in the end."""
    deb = tmp_path / ("0" * 64)
    deb.write_bytes(b"package")
    programs = Programs({"--simulate": [fails(UNKNOWN, 100)]})
    apt = packages(tmp_path, programs, "")
    with pytest.raises(FlexError) as caught:
        apt.simulate(["conntrack"], [deb])
    assert (caught.value.code, caught.value.transient) == ("package/does-not-fit", False)
    assert "artifacts bundle" in caught.value.hint
    assert verbs(programs) == ["--simulate"]
    argv = programs.commands[0].argv
    assert {"Dir::Etc::SourceList=/dev/null", "Dir::Etc::SourceParts=/dev/null"} <= set(argv)
    assert argv[-1] == "conntrack", "of the files, only what this package needs is wanted"


def test_a_proxy_is_the_way_to_the_archives_and_its_password_stays_out_of_sight(tmp_path: Path) -> None:
    url = "http://user:hunter2@proxy.test:3128"
    via = Proxies(http=Secret(url), https=Secret(url), exempt=("archive.test", "10.0.0.0/8"))
    programs = Programs({"--simulate": [fails(UNKNOWN, 100), says(SIMULATED)]})
    apt = packages(tmp_path, programs, "")
    apt.simulate(["conntrack"], via=via)
    apt.install(["conntrack"], via=via)
    assert verbs(programs) == ["--simulate", "update", "--simulate", "install"]
    for command in programs.commands:
        assert (command.env["http_proxy"], command.env["https_proxy"]) == (url, url)
        assert command.env["no_proxy"] == "archive.test,10.0.0.0/8"
        assert "hunter2" not in " ".join(command.argv)
    apt.install(["conntrack"])
    assert "http_proxy" not in programs.commands[-1].env


def test_lists_that_are_being_fetched_are_waited_for(tmp_path: Path) -> None:
    """A check of the archives may still run when installing begins: both would fetch into one folder."""
    fetching, go_on = threading.Event(), threading.Event()

    def fetch(command: Command) -> Completed:
        fetching.set()
        go_on.wait(20.0)
        return Completed(returncode=0, stdout=b"", stderr=b"")

    programs = Programs({"--simulate": [fails(UNKNOWN, 100), says(SIMULATED)], "update": [fetch]})
    apt = packages(tmp_path, programs, "")
    check = threading.Thread(target=lambda: apt.simulate(["conntrack"]))
    install = threading.Thread(target=lambda: apt.install(["conntrack"]))
    check.start()
    assert fetching.wait(20.0)
    install.start()
    go_on.set()
    check.join()
    install.join()
    assert verbs(programs) == ["--simulate", "update", "--simulate", "install"]


def test_the_machines_own_archives_serve_what_has_no_files(tmp_path: Path) -> None:
    deb = tmp_path / ("0" * 64)
    deb.write_bytes(b"package")
    programs = Programs()
    apt = packages(tmp_path, programs, "")
    apt.install(["conntrack"], [deb])
    apt.install(["socat"])
    assert "Dir::Etc::SourceList=/dev/null" not in programs.commands[1].argv


@pytest.mark.parametrize("state", ["half-configured", "half-installed", "unpacked", "triggers-pending"])
def test_what_another_package_manager_left_half_way_is_finished_first(state: str, tmp_path: Path) -> None:
    programs = Programs()
    status = f"Package: conntrack\nStatus: install ok {state}\n"
    apt = packages(tmp_path, programs, status)
    apt.simulate(["socat"])
    apt.install(["socat"])
    assert verbs(programs) == ["--simulate", "--configure", "install"]


def test_what_dpkg_has_not_written_down_yet_counts_as_half_way(tmp_path: Path) -> None:
    programs = Programs()
    make_files(tmp_path, **{"var__lib__dpkg__updates__0001": "", "var__lib__dpkg__updates__tmp.i": ""})
    packages(tmp_path, programs).purge(["bash"])
    assert verbs(programs) == ["--configure", "purge"]


def test_an_interruption_that_apt_finds_is_repaired_and_tried_again(tmp_path: Path) -> None:
    words = "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem."
    programs = Programs({"install": [fails(words, 100), says("")]})
    packages(tmp_path, programs, "").install(["conntrack"])
    assert verbs(programs) == ["install", "--configure", "install"]


def test_a_locked_dpkg_is_waited_for(tmp_path: Path) -> None:
    locked = fails("dpkg: error: dpkg frontend lock was locked by another process with pid 7", 2)
    programs = Programs({"--configure": [locked, locked, says("")]})
    clock = FakeClock()
    files = make_files(tmp_path, **{"var__lib__dpkg__status": "Package: a\nStatus: install ok unpacked\n"})
    AptPackages(files=files, run=programs.run, clock=clock).install(["conntrack"])
    assert verbs(programs) == ["--configure"] * 3 + ["install"]
    assert len(clock.slept) == 2


def test_only_what_is_there_is_purged(tmp_path: Path) -> None:
    programs = Programs({"--simulate": [says(PURGED)]})
    apt = packages(tmp_path, programs)
    apt.purge(["nothing"])
    assert apt.simulate_purge(["nothing"]) == Transaction()
    assert programs.commands == []
    assert apt.simulate_purge(["old", "nothing"]).removes == ("conntrack", "kubeadm")
    apt.purge(["old", "nothing"])
    assert programs.commands[-1].argv[-3:] == ("purge", "--allow-remove-essential", "old")
    assert "APT::Get::AutomaticRemove=false" in programs.commands[-1].argv


def test_a_purge_looks_at_no_archive(tmp_path: Path) -> None:
    """A machine leaves whatever state its lists are in, and apt leaves nothing among them for that."""
    programs = Programs({"--simulate": [says(PURGED)]})
    apt = packages(tmp_path, programs, "Package: bash\nStatus: install ok installed\n")
    apt.simulate_purge(["bash"])
    apt.purge(["bash"])
    assert verbs(programs) == ["--simulate", "purge"]
    for command in programs.commands:
        assert "Dir::Etc::SourceList=/dev/null" in command.argv
        (lists,) = [word for word in command.argv if word.startswith("Dir::State::Lists=")]
        assert "/var/cache/aks-flex-node-apt-" in lists


def test_what_apt_calls_important_leaves_too_where_the_node_brought_it(tmp_path: Path) -> None:
    """e2fsprogs, on a small machine without it: apt installs it like any other, and refuses to remove it."""
    programs = Programs({"--simulate": [says("Purg e2fsprogs [1.47]\n")]})
    apt = packages(tmp_path, programs, "Package: e2fsprogs\nStatus: install ok installed\n")
    assert apt.simulate_purge(["e2fsprogs"]).removes == ("e2fsprogs",)
    apt.purge(["e2fsprogs"])
    apt.install(["socat"])
    allowed = ["--allow-remove-essential" in command.argv for command in programs.commands]
    assert allowed == [True, True, False]


@pytest.mark.parametrize(
    ("words", "code", "transient"),
    [
        ("E: Package 'x' has no installation candidate", "package/unknown", False),
        (
            "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1",
            "package/locked",
            True,
        ),
        (
            "E: Failed to fetch http://a.test/x  Temporary failure resolving 'a.test'",
            "package/no-network",
            True,
        ),
        ("E: Failed to fetch http://a.test/x  503  Service Unavailable", "package/no-network", True),
        ("E: Failed to fetch http://a.test/x  Hash Sum mismatch", "package/digest-mismatch", True),
        (
            "E: Failed to fetch http://a.test/x  File has unexpected size (1 != 2)",
            "package/digest-mismatch",
            True,
        ),
        ("E: Unable to correct problems, you have held broken packages.", "package/held", False),
        ("E: Held packages were changed and -y was used", "package/held", False),
        ("W: GPG error: http://a.test InRelease: NO_PUBKEY 0E98404D386FA1D9", "package/untrusted", False),
        ("E: You don't have enough free space in /var/cache/apt/archives/.", "host/no-space", True),
        ("dpkg: error: unable to write: No space left on device", "host/no-space", True),
        ("E: Read-only file system", "host/read-only", False),
        ("E: Packages need to be removed but remove is disabled.", "package/failed", False),
        ("", "package/failed", False),
    ],
)
def test_what_apt_refuses_has_a_code(words: str, code: str, transient: bool) -> None:
    error = translate_apt(words, "install x")
    assert (error.code, error.transient) == (code, transient)


def test_a_command_that_is_missing_or_hangs_stays_what_it_is(tmp_path: Path) -> None:
    programs = Programs(absent=frozenset({"apt-get"}))
    with pytest.raises(FlexError) as caught:
        packages(tmp_path, programs).simulate(["conntrack"])
    assert caught.value.code == "host/command-missing"


def test_nothing_to_install_runs_nothing(tmp_path: Path) -> None:
    programs = Programs({"": [lambda command: Completed(returncode=0, stdout=b"", stderr=b"")]})
    apt = packages(tmp_path, programs)
    apt.install([])
    assert apt.simulate([]) == Transaction()
    assert programs.commands == []
