"""`aks-flex-node artifacts mirror | bundle | verify`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flexnode.cli.output import RESERVATION, emit, verb_options
from flexnode.clock import SystemClock
from flexnode.errors import UsageError
from flexnode.model import Arch

if TYPE_CHECKING:
    from flexnode.flows.selection import Access, Gathered, Selection
    from flexnode.flows.verify import Report
    from flexnode.progress import Progress

F = TypeVar("F", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)

SOURCES_HELP = (
    "Where files come from; give it several times to name them in order. A mirror (https://HOST/PATH), "
    "a directory, a bundle file, a registry (oci://HOST/REPOSITORY), an OCI layout (oci-layout:DIR), or the "
    "word vendor: the places where the vendors publish.  [default: vendor]"
)


@click.group()
def artifacts() -> None:
    """Fill a mirror, make an offline bundle, check one.

    Every file is known by its SHA-256 from the catalog before it is asked for, so no source needs to be
    trusted: a file is either the right one or is not used.
    """


def fetch_options(command: F) -> F:
    """The options of verbs that select artifacts and fetch them."""
    options = [
        click.option(
            "--kubernetes",
            metavar="VERSION",
            multiple=True,
            help="A Kubernetes version, 1.NN or 1.NN.PP, with all that goes with it; several are possible.  "
            "[default: the catalog's]",
        ),
        click.option(
            "--arch",
            type=click.Choice([arch.value for arch in Arch]),
            multiple=True,
            help="A processor architecture; several are possible.  [default: this machine's]",
        ),
        click.option("--source", metavar="SOURCE", multiple=True, help=SOURCES_HELP),
        click.option(
            "--catalog",
            metavar="FILE",
            type=PATH,
            multiple=True,
            help="A catalog of builds of your own, laid over the shipped one.",
        ),
        click.option(
            "--ca-bundle",
            metavar="FILE",
            type=PATH,
            help="Certificates of authorities to trust besides the machine's own, in PEM.",
        ),
        click.option(
            "--parallel",
            type=click.IntRange(1, 32),
            default=4,
            show_default=True,
            help="How many files to fetch at once.",
        ),
        click.option(
            "--min-rate",
            metavar="BYTES",
            type=click.IntRange(min=0),
            default=10_000,
            show_default=True,
            help="Leave a source for the next one if it sends fewer bytes per second for 20 seconds.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@artifacts.command(short_help="Fill a directory that any web server can serve.")
@click.argument("directory", metavar="DIR", type=PATH)
@fetch_options
@verb_options
def mirror(directory: Path, output: str, **options: Any) -> int:
    """Fill DIR with everything that a node fetches, to be served by any web server.

    Serve it as it is and name its address as a source: files lie in DIR/sha256, each under its own digest.
    What is there already is checked and kept, so the same command also continues, extends and repairs a
    mirror.
    """
    from flexnode.flows.mirror import fill_mirror

    selection, access = _read_options(options)
    with _progress() as progress:
        gathered = fill_mirror(directory, selection, access, clock=SystemClock(), progress=progress)
    return _emit_gathered(output, directory, gathered)


@artifacts.command(short_help="Write one file for machines without a network.")
@click.argument("file", metavar="FILE", type=PATH)
@click.option(
    "--suite",
    metavar="NAME",
    multiple=True,
    help="A Debian release (its code name) whose packages to include.  [default: this machine's]",
)
@click.option("--no-packages", is_flag=True, help="Leave Debian packages out.")
@click.option(
    "--debian-mirror",
    metavar="URL",
    help="The Debian archive to take packages from.  [default: the one that this machine's apt uses]",
)
@fetch_options
@verb_options
def bundle(
    file: Path,
    suite: tuple[str, ...],
    no_packages: bool,
    debian_mirror: str | None,
    output: str,
    **options: Any,
) -> int:
    """Write everything that a node needs to FILE, for machines that reach no network.

    Name FILE in artifacts.sources where the node is set up. It also holds the Debian packages that a node
    needs, with everything that these need beyond a minimal system: what the machine lacks of them is
    installed from FILE, and no archive is asked. The same content gives the same bytes.
    """
    from flexnode.flows.bundle import PackageChoice, find_suite, make_bundle
    from flexnode.host import run

    if no_packages and (suite or debian_mirror):
        raise UsageError("--no-packages contradicts --suite and --debian-mirror", hint="drop one of them")
    suites = () if no_packages else tuple(dict.fromkeys(suite)) or (_require_suite(find_suite()),)
    selection, access = _read_options(options)
    with _progress() as progress:
        gathered = make_bundle(
            file,
            selection,
            PackageChoice(suites=suites, mirror=debian_mirror),
            access,
            run=run,
            clock=SystemClock(),
            progress=progress,
        )
    return _emit_gathered(output, file, gathered)


@artifacts.command(short_help="Check every file of a mirror or a bundle.")
@click.argument("path", metavar="DIR|FILE", type=PATH)
@verb_options
def verify(path: Path, output: str) -> int:
    """Check every file of a mirror or a bundle; exit 1 and name each that is damaged or missing.

    A node's own store (/var/lib/aks-flex-node/store) can be checked, too.
    """
    from flexnode.flows.verify import verify as verify_files

    with _progress() as progress:
        report = verify_files(path, progress=progress)
    emit(output, text=_render_report(path, report), data=_report_data(report))
    return 1 if report.problems else 0


def _read_options(options: dict[str, Any]) -> tuple[Selection, Access]:
    from flexnode.artifacts import HttpSettings, Limits, load_proxies
    from flexnode.flows.selection import Access, Selection

    selection = Selection(
        kubernetes=tuple(version.removeprefix("v") for version in options["kubernetes"]),
        arches=tuple(Arch(arch) for arch in options["arch"]),
        overlays=options["catalog"],
    )
    access = Access(
        sources=options["source"] or ("vendor",),
        http=HttpSettings(proxies=load_proxies(os.environ), ca_bundle=options["ca_bundle"]),
        limits=Limits(parallel=options["parallel"], min_rate=options["min_rate"]),
    )
    return selection, access


def _require_suite(found: str) -> str:
    if not found:
        raise UsageError(
            "this machine does not say which Debian release it runs",
            hint="name one with --suite, or leave the packages out with --no-packages",
        )
    return found


def _progress() -> AbstractContextManager[Progress]:
    from flexnode.cli.progress import open_progress

    return open_progress(sys.stderr, SystemClock())


def _emit_gathered(output: str, path: Path, gathered: Gathered) -> int:
    import msgspec

    from flexnode.artifacts import render_size

    manifest = gathered.manifest
    sizes = {entry.sha256: entry.size for entry in manifest.entries()}
    lines = [f"{path}: Kubernetes {', '.join(manifest.kubernetes)}, {render_size(sum(sizes.values()))}"]
    lines += [f"  {entry.name}  {render_size(entry.size)}" for entry in manifest.files]
    if manifest.packages:
        amount = render_size(sum(entry.size for entry in manifest.packages))
        lines.append(f"  {len(manifest.packages)} Debian packages  {amount}")
    lines += [f"left out, a node works without it: {each.reason}" for each in gathered.left_out]
    left_out = [{"name": each.name, "reason": each.reason} for each in gathered.left_out]
    data = {"path": str(path), "left_out": left_out, **msgspec.to_builtins(manifest)}
    emit(output, text="\n".join(lines), data=data)
    return RESERVATION if gathered.left_out else 0


def _render_report(path: Path, report: Report) -> str:
    lines = [f"{problem.name} {problem.what} (sha256 {problem.sha256})" for problem in report.problems]
    missing = sum(problem.what == "is missing" for problem in report.problems)
    bad = len(report.problems) - missing
    verdict = f"{bad} damaged, {missing} missing" if report.problems else "all as they should be"
    lines.append(f"{path}: {report.checked} files checked, {verdict}")
    if not report.listed:
        lines.append("there is no manifest: whether a file is missing cannot be told")
    elif report.unlisted:
        lines.append(f"{len(report.unlisted)} of them are not in the manifest")
    return "\n".join(lines)


def _report_data(report: Report) -> dict[str, Any]:
    return {
        "checked": report.checked,
        "manifest": report.listed,
        "problems": [
            {"name": problem.name, "sha256": problem.sha256, "problem": problem.what}
            for problem in report.problems
        ],
        "unlisted": list(report.unlisted),
    }
