"""How each component is built from its source: which module, which packages, which flags.

A recipe says nothing about versions: those are the folders `sources/<component>/<version>/`, each a Go module
of its own with every dependency pinned by digest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Layout(StrEnum):
    """How the component's files are handed out."""

    FILES = "files"  # each binary by itself
    ARCHIVE = "archive"  # one tar.gz, laid out like its vendor's


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """How one component is built. `{version}`, `{major}` and `{minor}` in `variables` are filled in."""

    component: str
    module: str
    packages: tuple[str, ...] = ()  # import paths of programs; the last path element names the binary
    variables: tuple[tuple[str, str], ...] = ()  # string variables that the linker sets
    tags: tuple[str, ...] = ()
    cgo: bool = False  # true: linked statically with the machine's C compiler
    main: str = ""  # a program of our own over the module's library, instead of `packages`
    program: str = ""  # what `main` is called
    layout: Layout = Layout.FILES
    prefix: str = ""  # the folder inside the archive
    libraries: tuple[str, ...] = ()  # C libraries that are linked in, by their pkg-config names

    @property
    def binaries(self) -> tuple[str, ...]:
        """The names of everything this recipe makes."""
        return tuple(package.rsplit("/", 1)[-1] for package in self.packages) or (self.program,)

    def linker_flags(self, version: str) -> str:
        major, minor, *_ = version.split(".")
        words = ["-s", "-w"]
        for name, value in self.variables:
            words += ["-X", f"{name}={value.format(version=version, major=major, minor=minor)}"]
        if self.cgo:
            words += ["-extldflags", "-static"]
        return " ".join(words)


_CNI = "github.com/containernetworking/plugins"
_CONTAINERD = "github.com/containerd/containerd/v2"
_DISTRIBUTION = "github.com/distribution/distribution/v3"
_KUBERNETES = "k8s.io/kubernetes"
_VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")

ETCD_MAIN = """\
// Command etcd is etcd itself: its module publishes the server as a library, and this is all that is missing.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
"""

REGISTRY_MAIN = """\
// Command registry is the distribution registry with the one storage that the laboratory uses. The original
// links the clients of three clouds too, which take longer to build than all the rest.
package main

import (
	"os"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

func main() {
	if err := registry.RootCmd.Execute(); err != nil {
		os.Exit(1)
	}
}
"""

RECIPES: dict[str, Recipe] = {
    recipe.component: recipe
    for recipe in (
        Recipe(
            component="kubernetes",
            module=_KUBERNETES,
            packages=tuple(
                f"{_KUBERNETES}/cmd/{name}"
                for name in (
                    "kubelet",
                    "kube-apiserver",
                    "kube-controller-manager",
                    "kube-scheduler",
                    "kube-proxy",
                    "kubectl",
                    "kubeadm",
                )
            ),
            variables=tuple(
                (f"{package}.{name}", value)
                for package in _VERSION_PACKAGES
                for name, value in (
                    ("gitVersion", "v{version}"),
                    ("gitMajor", "{major}"),
                    ("gitMinor", "{minor}"),
                    ("gitTreeState", "archive"),
                )
            ),
        ),
        Recipe(
            component="containerd",
            module=_CONTAINERD,
            packages=tuple(
                f"{_CONTAINERD}/cmd/{name}" for name in ("containerd", "ctr", "containerd-shim-runc-v2")
            ),
            variables=((f"{_CONTAINERD}/version.Version", "v{version}"),),
            tags=("no_btrfs", "no_devmapper", "no_zfs"),
            layout=Layout.ARCHIVE,
            prefix="bin/",
        ),
        # Without the seccomp tag a node goes Ready and not one pod sandbox starts on it.
        Recipe(
            component="runc",
            module="github.com/opencontainers/runc",
            packages=("github.com/opencontainers/runc",),
            tags=("seccomp", "netgo", "osusergo"),
            cgo=True,
            libraries=("libseccomp",),
        ),
        Recipe(
            component="cni-plugins",
            module=_CNI,
            packages=tuple(
                f"{_CNI}/plugins/{path}"
                for path in (
                    *(f"ipam/{name}" for name in ("dhcp", "host-local", "static")),
                    *(f"main/{name}" for name in ("bridge", "dummy", "host-device", "ipvlan", "loopback")),
                    *(f"main/{name}" for name in ("macvlan", "ptp", "tap", "vlan")),
                    *(
                        f"meta/{name}"
                        for name in ("bandwidth", "firewall", "portmap", "sbr", "tuning", "vrf")
                    ),
                )
            ),
            variables=((f"{_CNI}/pkg/utils/buildversion.BuildVersion", "v{version}"),),
            layout=Layout.ARCHIVE,
            prefix="./",
        ),
        Recipe(component="etcd", module="go.etcd.io/etcd/server/v3", main=ETCD_MAIN, program="etcd"),
        Recipe(
            component="distribution",
            module=_DISTRIBUTION,
            main=REGISTRY_MAIN,
            program="registry",
            variables=((f"{_DISTRIBUTION}/version.version", "v{version}"),),
        ),
        Recipe(
            component="coredns",
            module="github.com/coredns/coredns",
            packages=("github.com/coredns/coredns",),
        ),
    )
}
