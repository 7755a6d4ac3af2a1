"""Every kind of managed thing, each wanted of machines that were left in different states before."""

from __future__ import annotations

from collections.abc import Callable

from flexnode.host.fake import FakeHost, render_deb
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
    Packages,
    Secret,
    State,
    Swap,
    Sysctl,
    Text,
    Unit,
    User,
)
from unit.resources.samples import Case, sha256

Scene = Callable[[FakeHost], None]

PATH = "/etc/node/thing"
PROGRAM = b"\x7fELF program"
SWAP_UNIT = "dev-sda2.swap"
PAUSE = "registry.k8s.io/pause:3.10"
ARCHIVE = b"an image archive"
DEBS = (
    render_deb("conntrack", "libnetfilter-conntrack3"),
    render_deb("libnetfilter-conntrack3"),
    render_deb("ethtool"),  # a bundle carries what other machines lack, too
)


def at_path(prepare: Scene) -> Scene:
    def scene(host: FakeHost) -> None:
        host.files.place_directory("/etc/node")
        prepare(host)

    return scene


def nothing(_host: FakeHost) -> None:
    pass


def file_of_the_user(host: FakeHost) -> None:
    host.files.place(PATH, "mine", mode=0o640, uid=1000, gid=1000, xattrs={"user.a": b"\x00\xff"})


PATH_SCENES: dict[str, Scene] = {
    "nothing": nothing,
    "file": file_of_the_user,
    "file-too-open": lambda host: host.files.place(PATH, "wanted", mode=0o666),
    "file-of-another": lambda host: host.files.place(PATH, "wanted", uid=1),
    "setuid-file": lambda host: host.files.place(PATH, PROGRAM, mode=0o4755),
    "link": lambda host: host.files.place_link(PATH, "/etc/hosts"),
    "dangling-link": lambda host: host.files.place_link(PATH, "../nowhere"),
    "empty-directory": lambda host: host.files.place_directory(PATH, mode=0o2750, gid=7),
}


def full_directory(host: FakeHost) -> None:
    host.files.place_directory(PATH, mode=0o777, uid=1000)
    host.files.place(f"{PATH}/theirs", "precious")


def link_to_directory(host: FakeHost) -> None:
    host.files.place_directory("/srv/data/things", mode=0o700, uid=1000)
    host.files.place("/srv/data/things/theirs", "precious")
    host.files.place_link("/srv/there", "data")
    host.files.place_link(PATH, "../../srv/there/things")


DIRECTORY_SCENES = PATH_SCENES | {"full-directory": full_directory, "link-to-directory": link_to_directory}


def path_cases() -> list[Case]:
    wants: dict[str, tuple[str, State]] = {
        "file:text": ("file", File(content=Text(text="wanted"))),
        "file:program": ("file", File(content=Blob(sha256=sha256(PROGRAM)), mode=0o755)),
        "file:member": ("file", File(content=Member(artifact=sha256(PROGRAM)), mode=0o755)),
        "file:secret": (
            "file",
            File(content=Secret(template="t: {{token}}\n", names=("token",)), mode=0o600),
        ),
        "file:absent": ("file", Absent()),
        "link": ("link", Link(target="../node/current")),
        "directory": ("directory", Directory(mode=0o750, uid=3, gid=4)),
    }
    return [
        Case(
            name=f"{name} where {scene} is",
            key=f"{kind}:{PATH}",
            want=want,
            scene=at_path(prepare),
            staged=(PROGRAM,),
        )
        for name, (kind, want) in wants.items()
        for scene, prepare in (DIRECTORY_SCENES if kind == "directory" else PATH_SCENES).items()
    ]


KERNEL_CASES = [
    Case(
        name="sysctl",
        key="sysctl:net.ipv4.ip_forward",
        want=Sysctl(value="1"),
        spoil=lambda host: host.kernel.set_sysctl("net.ipv4.ip_forward", "0"),
    ),
    Case(
        name="sysctl of several numbers",
        key="sysctl:net.ipv4.ip_local_port_range",
        want=Sysctl(value="1024\t 65000"),
    ),
    Case(
        name="sysctl that is right",
        key="sysctl:net.ipv4.ip_local_port_range",
        want=Sysctl(value="32768\t60999"),
    ),
    Case(
        name="module",
        key="module:br_netfilter",
        want=Module(),
        spoil=lambda host: host.kernel.unload_module("br_netfilter"),
    ),
    Case(name="module with a dash", key="module:br-netfilter", want=Module()),
    Case(name="module in the kernel", key="module:ext4", want=Module()),
    Case(name="no swap where none is", key="swap:all", want=Swap()),
    Case(
        name="no swap where two are",
        key="swap:all",
        want=Swap(),
        scene=lambda host: host.kernel.swap.extend(["/dev/sda2", "/swap file"]),
        spoil=lambda host: host.kernel.swap_on("/dev/sda2"),
    ),
]


def lacks_archive(host: FakeHost) -> None:
    host.packages.archive.clear()
    host.packages.reachable = False


def has_ethtool(host: FakeHost) -> None:
    lacks_archive(host)
    host.packages.present.add("ethtool")


PACKAGE_CASES = [
    Case(
        name="packages",
        key="packages:tools",
        want=Packages(installed=("conntrack", "socat")),
        spoil=lambda host: host.packages.purge(["libnetfilter-conntrack3"]),
    ),
    Case(
        name="packages, one of them there",
        key="packages:tools",
        want=Packages(installed=("conntrack", "socat")),
        scene=lambda host: host.packages.present.add("socat"),
    ),
    Case(
        name="packages that are there",
        key="packages:tools",
        want=Packages(installed=("bash", "nftables")),
    ),
    Case(
        name="packages from files",
        key="packages:tools",
        want=Packages(installed=("conntrack",), debs=tuple(map(sha256, DEBS))),
        scene=lacks_archive,
        staged=DEBS,
        spoil=lambda host: host.packages.purge(["libnetfilter-conntrack3"]),
    ),
    Case(
        name="packages from files, one of them there",
        key="packages:tools",
        want=Packages(installed=("conntrack", "ethtool"), debs=tuple(map(sha256, DEBS))),
        scene=has_ethtool,
        staged=DEBS,
    ),
]


def placed(*, enabled: bool = False, active: bool = False) -> Scene:
    return lambda host: host.units.place("thing.service", enabled=enabled, active=active)


def masked(*, enabled: bool = False, active: bool = False) -> Scene:
    def scene(host: FakeHost) -> None:
        host.units.place("thing.service", enabled=enabled, active=active)
        host.units.mask("thing.service")

    return scene


def static(host: FakeHost) -> None:
    host.units.place("thing.service", "[Unit]\nDescription=thing\n")


def changed_on_disk(host: FakeHost) -> None:
    host.units.place("thing.service", enabled=True, active=True)
    host.units.place("thing.service", "[Service]\n[Install]\nWantedBy=multi-user.target\n")
    host.units.stop("thing.service")


UNIT_SCENES: dict[str, Scene] = {
    "resting": placed(),
    "enabled": placed(enabled=True),
    "active": placed(active=True),
    "enabled and active": placed(enabled=True, active=True),
    "masked": masked(),
    "masked and enabled": masked(enabled=True),
    "masked and active": masked(active=True),
    "static": static,
    "changed on disk": changed_on_disk,
}

UNIT_WANTS: dict[str, Unit] = {
    "enabled and active": Unit(enabled=True, active=True),
    "resting": Unit(enabled=False, active=False),
    "active": Unit(active=True),
    "enabled": Unit(enabled=True),
    "masked": Unit(masked=True),
    "stopped and masked": Unit(active=False, masked=True),
}


def unit_cases() -> list[Case]:
    known = [
        Case(name=f"unit {name} where it is {scene}", key="unit:thing.service", want=want, scene=prepare)
        for name, want in UNIT_WANTS.items()
        for scene, prepare in UNIT_SCENES.items()
    ]
    unknown = [
        Case(name=f"unit {name} where there is none", key="unit:thing.service", want=UNIT_WANTS[name])
        for name in ("resting", "masked")
    ]
    return [*known, *unknown]


def running_runtime(host: FakeHost) -> None:
    host.units.place("containerd.service", enabled=True, active=True)
    host.runtime.references[sha256(ARCHIVE)] = (PAUSE,)


LOGIN = "/etc/kubernetes/kubelet.conf"
# As kubelet writes it.
KUBELETS = """\
apiVersion: v1
clusters:
- cluster:
    certificate-authority: /etc/kubernetes/pki/ca.crt
    server: https://old.example.com:6443
    tls-server-name: kubernetes
  name: default-cluster
kind: Config
users:
- name: default-auth
  user:
    client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem
    client-key: /var/lib/kubelet/pki/kubelet-client-current.pem
"""


def login(text: str) -> Scene:
    return lambda host: host.files.place(LOGIN, text, mode=0o600, gid=7)


LOGINS: dict[str, Scene] = {
    "kubelet's": login(KUBELETS),
    "a quoted one": login(KUBELETS.replace("https://old.example.com:6443", "'https://old.example.com/'")),
    "one in JSON": login('{"clusters":[{"name":"c","cluster":{"server":"https://old.example.com:6443"}}]}'),
    "one that is right but for a slash": login(KUBELETS.replace("old", "new").replace("6443", "6443/")),
    "one that kubelet did not write": login(KUBELETS + KUBELETS),
    "one that is no file": lambda host: host.files.place_link(LOGIN, "/root/.kube/config"),
    "nothing": nothing,
}

OTHER_CASES = [
    *(
        Case(
            name=f"kubeconfig where {what} is",
            key=f"kubeconfig:{LOGIN}",
            want=Kubeconfig(server="https://new.example.com:6443"),
            scene=scene,
        )
        for what, scene in LOGINS.items()
    ),
    Case(
        name="kubeconfig that somebody led elsewhere",
        key=f"kubeconfig:{LOGIN}",
        want=Kubeconfig(server="https://old.example.com:6443"),
        scene=login(KUBELETS),
        spoil=lambda host: host.files.place(LOGIN, KUBELETS.replace("old", "other"), mode=0o600, gid=7),
    ),
    Case(
        name="user",
        key="user:kube",
        want=User(home="/var/lib/kube"),
        spoil=lambda host: host.accounts.remove_user("kube"),
    ),
    Case(name="user who is there", key="user:root", want=User()),
    Case(
        name="group",
        key="group:kube",
        want=Group(),
        spoil=lambda host: host.accounts.remove_group("kube"),
    ),
    Case(
        name="image from an archive",
        key=f"image:{PAUSE}",
        want=Image(archive=sha256(ARCHIVE)),
        scene=running_runtime,
        staged=(ARCHIVE,),
        spoil=lambda host: host.runtime.remove_image(PAUSE),
    ),
    Case(
        name="image from its registry",
        key="image:registry.k8s.io/kube-proxy:v1.35.0",
        want=Image(pull=True),
        scene=running_runtime,
    ),
]


def failed(host: FakeHost) -> None:
    host.units.crash("thing.service", restarted=False)


def linked_elsewhere(host: FakeHost) -> None:
    host.files.remove(PATH)
    host.files.make_link(PATH, "/etc/hosts")


SPOILED_FILES: dict[str, Scene] = {
    "edited": lambda host: host.files.place(PATH, "wanted, but different"),
    "opened": lambda host: host.files.set_attributes(PATH, mode=0o666),
    "given away": lambda host: host.files.set_attributes(PATH, uid=1000),
    "removed": lambda host: host.files.remove(PATH),
    "linked elsewhere": linked_elsewhere,
}

SPOILED_DIRECTORIES: dict[str, Scene] = {
    "opened": lambda host: host.files.set_attributes(PATH, mode=0o777),
    "removed": lambda host: host.files.remove(PATH),
}

SPOILED_UNITS: dict[str, Scene] = {
    "stopped": lambda host: host.units.stop("thing.service"),
    "disabled": lambda host: host.units.disable("thing.service"),
    "masked": lambda host: host.units.mask("thing.service"),
    "failed": failed,
}

SPOILED: dict[str, tuple[str, State, Scene, dict[str, Scene]]] = {
    "file": (f"file:{PATH}", File(content=Text(text="wanted")), at_path(nothing), SPOILED_FILES),
    "link": (f"link:{PATH}", Link(target="current"), at_path(nothing), {"elsewhere": linked_elsewhere}),
    "directory": (f"directory:{PATH}", Directory(), at_path(nothing), SPOILED_DIRECTORIES),
    "unit": ("unit:thing.service", Unit(enabled=True, active=True), placed(), SPOILED_UNITS),
}

CASES = [*path_cases(), *KERNEL_CASES, *PACKAGE_CASES, *unit_cases(), *OTHER_CASES]

DRIFTING = [
    *(case for case in CASES if case.spoil is not None),
    *(
        Case(name=f"{kind} {what}", key=key, want=want, scene=scene, spoil=spoil)
        for kind, (key, want, scene, spoils) in SPOILED.items()
        for what, spoil in spoils.items()
    ),
]
