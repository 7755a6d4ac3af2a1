"""Every kind of machine has every door, and none of them costs more than it must."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flexnode.errors import FlexError
from flexnode.host import Command, LiveHost, RootfsHost, door
from flexnode.host.fake import FakeHost
from unit.host.programs import Programs, says

DOORS = ("files", "units", "kernel", "packages", "accounts", "runtime", "network")


def machines(root: Path) -> dict[str, door.Host]:
    return {
        "fake": FakeHost(),
        "live": LiveHost(run=Programs().run),
        "rootfs": RootfsHost(root),
    }


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("kind", ["fake", "live", "rootfs"])
def test_every_machine_can_be_asked_and_told_the_same(kind: str, name: str, tmp_path: Path) -> None:
    protocol = getattr(door, name.capitalize())
    made = getattr(machines(tmp_path)[kind], name)
    methods = [each for each in vars(protocol) if not each.startswith("_")]
    assert methods
    for method in methods:
        wanted = list(inspect.signature(getattr(protocol, method)).parameters)[1:]
        assert list(inspect.signature(getattr(made, method)).parameters) == wanted, method


def test_programs_of_a_root_file_system_run_in_it(tmp_path: Path) -> None:
    programs = Programs({"chroot": [says("amd64\n")]})
    host = RootfsHost(tmp_path, run=programs.run)
    assert host.run(Command(argv=("dpkg", "--print-architecture"), cwd=tmp_path)).text == "amd64\n"
    (command,) = programs.commands
    assert command.argv == ("chroot", str(tmp_path.resolve()), "dpkg", "--print-architecture")
    assert command.cwd is None
    host.packages.install(["conntrack"])
    assert programs.commands[-1].argv[:3] == ("chroot", str(tmp_path.resolve()), "apt-get")


def test_a_root_file_system_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(FlexError) as caught:
        RootfsHost(tmp_path / "nothing")
    assert caught.value.code == "host/no-such-file"


def test_what_needs_a_running_machine_does_nothing_in_an_image(tmp_path: Path) -> None:
    programs = Programs()
    host = RootfsHost(tmp_path, run=programs.run)
    host.kernel.load_module("overlay")
    host.kernel.set_sysctl("net.ipv4.ip_forward", "1")
    host.kernel.swap_off("/dev/vda2")
    host.runtime.import_image(tmp_path / "none.tar")
    host.runtime.pull_image("registry.test/a:1")
    host.runtime.try_sandbox()
    host.network.remove_chains(["KUBE-"])
    host.network.remove_link("cni0")
    assert host.kernel.has_module("overlay") is None
    assert host.kernel.find_sysctl("net.ipv4.ip_forward") is None
    assert (host.kernel.swaps(), host.runtime.stop_all_pods(), host.network.chains()) == ((), (), ())
    assert host.runtime.images() == frozenset()
    assert programs.commands == []
    assert os.listdir(tmp_path) == []


def test_what_speaks_to_the_runtime_is_not_loaded_before_it_is_needed() -> None:
    """A node's program starts many times an hour; h2 alone would double what that takes."""
    script = "import flexnode.host, json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert "flexnode" in loaded
    assert not loaded & {"h2", "httpx", "yaml", "asyncio", "ssl", "socket", "tarfile"}
