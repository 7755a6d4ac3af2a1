"""containerd pulls, pins and keeps what its user configured, and pods outlive its restarts."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.components.containerd_config import render_config
from flexnode.components.machine import compose_machine
from flexnode.components.preload import compose_images, full_reference
from flexnode.components.registries import compose_registries
from flexnode.components.toml import render_toml
from flexnode.errors import CatalogError
from flexnode.model.machine import CniMode, MachineSpec, RegistryMirror, RuntimeSpec
from flexnode.resources import Disruption, Resource
from flexnode.resources.state import File, Image, Text
from unit.components.samples import DEFAULT, MIRROR_CA, PAUSE, text_of, with_machine


def machine(**runtime: Any) -> Any:
    return with_machine(MachineSpec(runtime=RuntimeSpec(**runtime))).machine


def images(**runtime: Any) -> dict[str, Image]:
    composed = compose_images(machine(**runtime))
    return {each.name: each.want for each in composed if isinstance(each.want, Image)}


def mirror_files(mirror: RegistryMirror) -> dict[str, str]:
    return {
        each.name: each.want.content.text
        for each in compose_registries(machine(registries=(mirror,)))
        if isinstance(each.want, File) and isinstance(each.want.content, Text)
    }


def hosts(*endpoints: str, registry: str = "docker.io", ca: str = "") -> Any:
    files = mirror_files(RegistryMirror(registry=registry, endpoints=endpoints, ca=ca))
    return tomllib.loads(files[f"/etc/containerd/certs.d/{registry}/hosts.toml"])["host"]


# Images


def test_the_sandbox_image_comes_from_its_archive() -> None:
    """Otherwise a node without a registry in reach would be Ready and start no pod."""
    assert images() == {PAUSE: Image(archive=DEFAULT.parts.artifacts["pause"].sha256)}


def test_a_sandbox_image_of_the_users_own_is_pulled() -> None:
    assert images(sandbox_image="registry.example/pause:1") == {"registry.example/pause:1": Image(pull=True)}


def test_a_sandbox_image_that_nobody_built_is_pulled() -> None:
    without = {name: each for name, each in DEFAULT.parts.artifacts.items() if name != "pause"}
    inputs = replace(DEFAULT.machine, parts=replace(DEFAULT.parts, artifacts=without))
    assert [each.want for each in compose_images(inputs)] == [Image(pull=True)]


def test_a_listed_image_is_pulled_once_and_never_collected() -> None:
    """kubelet would remove it when the disk fills, and the agent would fetch it again, in turns."""
    listed = ("busybox", "docker.io/library/busybox:latest", PAUSE)
    assert images(preload=listed).keys() == {PAUSE, "docker.io/library/busybox:latest"}
    config = tomllib.loads(render_config(machine(preload=listed)))
    assert config["plugins"]["io.containerd.cri.v1.images"]["pinned_images"] == {
        "sandbox": PAUSE,
        "preload-1": "docker.io/library/busybox:latest",
    }


@pytest.mark.parametrize(
    ("written", "full"),
    [
        ("busybox", "docker.io/library/busybox:latest"),
        ("busybox:1.36", "docker.io/library/busybox:1.36"),
        ("team/app", "docker.io/team/app:latest"),
        ("docker.io/busybox", "docker.io/library/busybox:latest"),
        ("localhost/app", "localhost/app:latest"),
        ("registry.example/app:1", "registry.example/app:1"),
        ("registry.example:5000/team/app", "registry.example:5000/team/app:latest"),
        ("registry:5000/app", "registry:5000/app:latest"),
        (f"registry.example/app@sha256:{'0' * 64}", f"registry.example/app@sha256:{'0' * 64}"),
    ],
)
def test_an_image_is_found_under_the_name_that_the_runtime_gives_it(written: str, full: str) -> None:
    """Under any other it would be missing for ever, and fetched at every look."""
    assert full_reference(written) == full
    assert full_reference(full) == full


# Registries


def test_mirrors_are_asked_in_the_users_order() -> None:
    endpoints = ("https://second.example", "https://first.example", "http://10.0.0.5:5000")
    assert list(hosts(*endpoints)) == list(endpoints)


def test_a_mirror_is_only_pulled_from() -> None:
    assert hosts("https://mirror.example")["https://mirror.example"] == {"capabilities": ["pull", "resolve"]}


def test_a_mirror_below_a_path_of_the_api_is_asked_there() -> None:
    endpoint = "https://mirror.example/v2/docker"
    assert hosts(endpoint)[endpoint]["override_path"] is True


def test_a_mirrors_authority_is_believed_for_that_mirror_alone() -> None:
    files = mirror_files(
        RegistryMirror(registry="ghcr.io:443", endpoints=("https://mirror.example", "http://b"), ca=MIRROR_CA)
    )
    place = "/etc/containerd/certs.d/ghcr.io:443"
    assert files[f"{place}/ca.crt"] == MIRROR_CA
    found = tomllib.loads(files[f"{place}/hosts.toml"])["host"]
    assert found["https://mirror.example"]["ca"] == f"{place}/ca.crt"
    assert "ca" not in found["http://b"]


def test_a_new_mirror_restarts_nothing() -> None:
    composed = compose_registries(
        machine(registries=(RegistryMirror(registry="_default", endpoints=("http://m",)),))
    )
    assert composed
    assert all(each.disruption is Disruption.NONE and not each.restarts for each in composed)


# Configuration and unit


def test_a_network_of_the_clusters_own_finds_no_bridge_in_its_place() -> None:
    inputs = machine(cni=CniMode.NONE)
    assert "conf_template" not in render_config(inputs)
    keys = {each.key for each in compose_machine(inputs).resources}
    assert "file:/etc/containerd/cni.template" not in keys
    assert "file:/opt/cni/bin/loopback" in keys


@pytest.mark.parametrize("unit", ["containerd.service", "kubelet.service"])
def test_pods_outlive_the_units_that_run_them(unit: str) -> None:
    lines = text_of(DEFAULT, f"/etc/systemd/system/{unit}").splitlines()
    assert "KillMode=process" in lines
    assert "Delegate=yes" in lines
    # A unit that gave up after a few failures would have to be started by hand.
    assert "Restart=always" in lines
    assert "StartLimitIntervalSec=0" in lines


def test_a_new_runc_or_shim_restarts_nothing() -> None:
    """They are started anew for each pod."""
    found = {each.name: each for each in compose_machine(DEFAULT.machine).resources if each.kind == "file"}
    for program in ("runc", "containerd-shim-runc-v2", "ctr", "kubectl"):
        assert found[f"/usr/local/bin/{program}"].restarts == ()
    assert found["/usr/local/bin/containerd"].restarts == ("containerd.service",)
    assert found["/usr/local/bin/kubelet"].restarts == ("kubelet.service",)


def test_every_program_is_verified_and_can_be_run() -> None:
    node = compose_machine(DEFAULT.machine)
    programs: list[Resource] = [each for each in node.resources if "/bin/" in each.name]
    staged = {each.sha256 for each in node.needs}
    for each in programs:
        assert isinstance(each.want, File)
        assert each.want.mode == 0o755
        assert each.want.content.artifact in staged  # type: ignore[union-attr]
    assert {each.name for each in node.needs} == {
        f"{name} 9.9.0 (amd64)"
        for name in ("cni-plugins", "containerd", "crictl", "kubectl", "kubelet", "pause", "runc")
    }


def test_parts_that_lack_a_program_are_refused() -> None:
    without = {name: each for name, each in DEFAULT.parts.artifacts.items() if name != "runc"}
    inputs = replace(DEFAULT.machine, parts=replace(DEFAULT.parts, artifacts=without))
    with pytest.raises(CatalogError) as caught:
        compose_machine(inputs)
    assert caught.value.code == "catalog/part-missing"
    assert "runc" in caught.value.message


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))  # no halves of characters
VALUES = st.one_of(TEXTS, st.integers(0, 1 << 40), st.booleans(), st.lists(TEXTS))


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), VALUES))
def test_what_is_written_in_toml_is_read_as_it_was_meant(values: dict[str, object]) -> None:
    text = "".join(f"{name} = {render_toml(value)}\n" for name, value in values.items())
    assert tomllib.loads(text) == values
