"""The settings of a machine, whichever cluster it joins: what an image may be made with."""

from __future__ import annotations

from flexnode.config import texts
from flexnode.config.tree import Effect, Section, Setting
from flexnode.config.types import Choice, Flag, ListOf, MapOf

VERSIONS = Section(
    about="Versions of the parts of the node. What is not named is chosen to go with the version of "
    "Kubernetes.",
    fields={
        "kubernetes": Setting(
            type=texts.KUBERNETES_VERSION,
            about="The version of Kubernetes: 1.NN for the newest known patch of it, or 1.NN.PP.",
            effect=Effect.VERSION,
            unset="the cluster's minor version if that is known, else the catalog's default",
            detected=True,
        ),
        "containerd": Setting(
            type=texts.CONTAINERD_VERSION,
            about="The version of containerd, 2.0 or newer.",
            effect=Effect.CONTAINERD,
            unset="the one that the catalog pairs with this version of Kubernetes",
        ),
        "runc": Setting(
            type=texts.VERSION,
            about="The version of runc.",
            effect=Effect.NOTHING,
            unset="the one that the catalog pairs with this version of Kubernetes",
        ),
        "cniPlugins": Setting(
            type=texts.VERSION,
            about="The version of the CNI plugins.",
            effect=Effect.NOTHING,
            unset="the one that the catalog pairs with this version of Kubernetes",
        ),
    },
)

_REGISTRY = Section(
    about="Where the images of one registry are pulled from.",
    fields={
        "mirrors": Setting(
            type=ListOf(item=texts.MIRROR_URL),
            about="Asked in this order before the registry itself. http:// is for mirrors inside one's own "
            "network.",
            effect=Effect.NOTHING,
            unset="the registry itself is asked",
        ),
        "ca": Setting(
            type=texts.CERTIFICATES,
            about="The authorities, in PEM, that certificates of these servers come from.",
            effect=Effect.NOTHING,
            unset="the authorities that the machine trusts",
        ),
    },
)

RUNTIME = Section(
    about="containerd, and what pods run with.",
    fields={
        "sandboxImage": Setting(
            type=texts.IMAGE,
            about="The image of pod sandboxes.",
            effect=Effect.CONTAINERD,
            unset="the catalog's pause image",
        ),
        "registries": Setting(
            type=MapOf(key=texts.REGISTRY, value=_REGISTRY, words="a map from registry to its mirrors"),
            about="Mirrors by registry (docker.io, registry.local:5000), or _default for every registry "
            "that has no entry of its own.",
            effect=Effect.NOTHING,
            unset="images come from the registries that their references name",
        ),
        "preloadImages": Setting(
            type=ListOf(item=texts.IMAGE),
            about="Images that shall be on the machine before the first pod.",
            effect=Effect.CONTAINERD,
            unset="only the sandbox image is",
        ),
        "cni": Setting(
            type=Choice(options=("bridge", "none")),
            about="Who configures the pod network: bridge is the product's own, in the pod range that the "
            "cluster allocates to the node; none leaves it to what the cluster installs.",
            effect=Effect.NETWORK,
            default="bridge",
        ),
    },
)

HOST = Section(
    about="The operating system under the node. Each part can be left to you by switching it off.",
    fields={
        "manageSwap": Setting(
            type=Flag(),
            about="Whether swap is switched off and kept off.",
            effect=Effect.KUBELET,
            default=True,
        ),
        "manageTime": Setting(
            type=Flag(),
            about="Whether the time is kept by systemd-timesyncd where nothing else keeps it.",
            effect=Effect.NOTHING,
            default=True,
        ),
        "manageJournald": Setting(
            type=Flag(),
            about="Whether the journal is kept within bounds.",
            effect=Effect.NOTHING,
            default=True,
        ),
        "manageUpdates": Setting(
            type=Flag(),
            about="Whether needrestart and unattended upgrades are told to leave the node's services alone.",
            effect=Effect.NOTHING,
            default=True,
        ),
        "manageFirewall": Setting(
            type=Flag(),
            about="Whether pods' traffic is forwarded and masqueraded, in a table of the product's own.",
            effect=Effect.NOTHING,
            default=True,
        ),
        "supportTools": Setting(
            type=Flag(),
            about="Whether tools for diagnosis are installed: Debian packages, from a bundle, directory or "
            "mirror of artifacts.sources that carries them, else from apt's own archives.",
            effect=Effect.NOTHING,
            default=True,
        ),
        "journaldMaxUse": Setting(
            type=texts.SIZE,
            about="How much disk the journal may take.",
            effect=Effect.NOTHING,
            default="512M",
        ),
        "sysctls": Setting(
            type=MapOf(key=texts.SYSCTL_KEY, value=texts.SYSCTL_VALUE, words="a map from sysctl to text"),
            about="Kernel settings besides, and over, those that a node needs.",
            effect=Effect.NOTHING,
            unset="those that a node needs",
        ),
        "modules": Setting(
            type=ListOf(item=texts.MODULE),
            about="Kernel modules besides those that a node needs.",
            effect=Effect.NOTHING,
            unset="those that a node needs",
        ),
        "caCertificates": Setting(
            type=ListOf(item=texts.CERTIFICATES),
            about="Authorities, in PEM, that the whole machine shall trust.",
            effect=Effect.CONTAINERD,
            unset="those that the machine trusts already",
        ),
    },
)

PROXY = Section(
    about="How programs on the machine reach the outside: containerd, kubelet, this program itself, and apt"
    " as it calls it, where apt is set to no proxy of its own.",
    fields={
        "http": Setting(
            type=texts.PROXY_URL,
            about="The proxy for http:// URLs. A user and password in it make it a secret.",
            effect=Effect.SERVICES,
            unset="direct connections",
        ),
        "https": Setting(
            type=texts.PROXY_URL,
            about="The proxy for https:// URLs. A user and password in it make it a secret.",
            effect=Effect.SERVICES,
            unset="direct connections",
        ),
        "noProxy": Setting(
            type=ListOf(item=texts.NO_PROXY),
            about="What is reached directly: hosts, domains, addresses, networks.",
            effect=Effect.SERVICES,
            unset="the machine itself",
        ),
    },
)

ARTIFACTS = Section(
    about="Where the files come from that a node is made of. Each is checked against the catalog's digest.",
    fields={
        "sources": Setting(
            type=ListOf(item=texts.SOURCE, least=1),
            about="Asked in this order: a mirror (https://HOST/PATH), a registry (oci://HOST/REPOSITORY), a"
            " directory or bundle file (absolute path), an OCI layout (oci-layout:/DIR), or vendor: "
            "the places where vendors publish.",
            effect=Effect.NEXT_FETCH,
            default=["vendor"],
        ),
        "caBundle": Setting(
            type=texts.PATH,
            about="A file of authorities, in PEM, for these servers, besides those that the machine trusts.",
            effect=Effect.NEXT_FETCH,
            unset="the authorities that the machine trusts",
        ),
        "overlays": Setting(
            type=ListOf(item=texts.PATH),
            about="Catalogs of builds of your own, files that are laid over the shipped catalog.",
            effect=Effect.UPGRADE,
            unset="the shipped catalog as it is",
        ),
    },
)
