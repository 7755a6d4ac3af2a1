"""What the architecture allows, in tables.

`docs/ARCHITECTURE.md` tells why. A new package goes into its layer, a new user of an effect into the row of
its door; where neither fits, think again before you widen a row.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Layers:
    """Imports point down only: a part imports parts of later rows, and none of its own row."""

    package: str
    rows: tuple[tuple[str, ...], ...]
    may_import: tuple[str, ...] = ()
    """Other packages of this repository that it builds on."""


PRODUCT = Layers(
    package="flexnode",
    rows=(
        ("cli",),
        ("agent", "fleet"),
        ("flows",),
        ("components", "images"),
        ("generation",),
        ("resources",),
        ("host", "azure", "kube", "artifacts", "machines"),
        ("config", "catalog"),
        ("model",),
        ("retry", "progress", "digests", "duration"),
        ("errors", "secret", "clock"),
    ),
)

LABORATORY = Layers(
    package="flexlab",
    rows=(
        ("cli",),
        ("demo", "bench", "testing"),
        ("cluster", "handmade", "node_agent"),
        ("control_plane", "machine", "gateway", "azure", "artifact_server"),
        ("network", "registry"),
        ("parts",),
        ("images",),
        ("base", "pki"),
        ("lab",),
        ("process", "model", "paths"),
        ("errors",),
    ),
    may_import=("flexnode",),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Door:
    """An effect, the names that cause it, and who may use them: modules or packages, each with a reason."""

    effect: str
    names: tuple[str, ...]
    behind: dict[str, str]


DOORS = (
    Door(
        effect="starts programs",
        names=(
            "subprocess",
            "pty",
            "multiprocessing",
            "os.system",
            "os.popen",
            "os.fork",
            "os.forkpty",
            "os.exec*",
            "os.spawn*",
            "os.posix_spawn*",
            "asyncio.create_subprocess_*",
        ),
        behind={
            "flexnode.host": "the product's door to the machine",
            "flexlab.process": "the laboratory's door: every process carries the mark of its lab",
        },
    ),
    Door(
        effect="talks to the network",
        names=(
            "httpx",
            "socket",
            "ssl",
            "urllib.request",
            "urllib3",
            "requests",
            "http.client",
            "http.server",
            "socketserver",
            "asyncio.open_connection",
            "asyncio.start_server",
        ),
        behind={
            "flexnode.agent.notify": "speaks to systemd, over the socket that it names",
            "flexnode.host.cri": "speaks to containerd's own socket",
            "flexnode.kube": "the door to the Kubernetes API",
            "flexnode.azure": "the door to Azure",
            "flexnode.artifacts": "the door to mirrors, release sites and registries",
            "flexlab.network": "it is the network",
            "flexlab.gateway": "serves DHCP, DNS, time and metadata to the lab's machines",
            "flexlab.artifact_server": "serves artifacts, with faults",
            "flexlab.control_plane": "asks the lab's API server",
            "flexlab.registry": "fills the lab's registry",
            "flexlab.azure": "the stand-in for Azure",
            "flexlab.machine": "speaks to QEMU's control socket",
        },
    ),
    Door(
        effect="prints, reads the terminal or exits",
        names=(
            "print",
            "input",
            "exit",
            "quit",
            "sys.exit",
            "SystemExit",
            "os._exit",
            "click.echo",
            "click.secho",
            "click.confirm",
            "click.prompt",
            "getpass",
        ),
        behind={
            "flexnode.cli": "the product's command line",
            "flexlab.cli": "the laboratory's command line",
        },
    ),
    Door(
        effect="writes to the terminal",
        names=("sys.stdin", "sys.stdout", "sys.stderr"),
        behind={
            "flexnode.cli": "the product's command line",
            "flexlab": "the laboratory's daemons keep their log there",
        },
    ),
    Door(
        effect="asks the machine for the time or waits",
        names=(
            "time.sleep",
            "time.time*",
            "time.monotonic*",
            "time.perf_counter*",
            "time.localtime",
            "time.gmtime",
            "datetime.datetime.now",
            "datetime.datetime.utcnow",
            "datetime.datetime.today",
            "datetime.date.today",
            "asyncio.sleep",
        ),
        behind={
            "flexnode.clock": "the door to time",
            "flexlab.network.relay": "delays packets by real milliseconds, as a daemon of its own",
            "flexlab.gateway.__main__": "is the lab's time server",
        },
    ),
)

MODULE_LINES = 400
FUNCTION_LINES = 80
VAGUE_NAMES = frozenset({"util", "utils", "common", "helper", "helpers", "misc", "tools", "stuff"})
