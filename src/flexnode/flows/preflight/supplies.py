"""Checks of what has to be fetched: files of the catalog, Debian packages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flexnode.artifacts import Code, Refusal, combine, render_size
from flexnode.errors import ArtifactError, FlexError
from flexnode.flows.cluster_facts import to_archives
from flexnode.flows.preflight.check import Finding, Level, error, failed, ok, skipped, warning
from flexnode.flows.preflight.offline import tell_bundle
from flexnode.flows.preflight.processes import find_users
from flexnode.flows.preflight.reading import find_names, find_text
from flexnode.flows.preflight.situation import Situation, Sought

NOTHING_CHOSEN = "no versions are chosen, so nothing is needed; see catalog"

DPKG_LOCKS = ("/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock")
_HALF_WAY = re.compile(r"^Status: \S+ \S+ (?:half-\w+|unpacked)$", re.MULTILINE)

# What says that a source cannot be used at all, not only that it lacks one file.
_LACKING = frozenset({Code.NOT_FOUND})


def check_catalog(situation: Situation) -> Iterator[Finding]:
    if situation.no_parts is not None:
        yield failed(situation.no_parts, hint="choose another version in versions.kubernetes")
    elif situation.parts is None:
        yield skipped(NOTHING_CHOSEN)
    else:
        files = sorted(situation.parts.artifacts.values(), key=str)
        yield ok(", ".join(f"{file.component} {file.version}" for file in files))


def check_artifact_sources(situation: Situation) -> Iterator[Finding]:
    if situation.search is None:
        yield skipped(NOTHING_CHOSEN)
        return
    missing = [sought for sought in situation.search() if not sought.stored]
    if not missing:
        yield ok("everything is in the store already")
        return
    needless = all(sought.found or sought.optional for sought in missing)
    for source, refusal in _refusals(missing).items():
        if refusal is None:
            yield ok(f"{source} answers")
        elif needless:
            yield failed(
                _about(source, refusal),
                level=Level.WARNING,
                hint="remove it from artifacts.sources, or repair it",
            )
        else:
            yield failed(_about(source, refusal, tell_bundle(situation)))


def check_artifacts(situation: Situation) -> Iterator[Finding]:
    if situation.search is None:
        yield skipped(NOTHING_CHOSEN)
        return
    found = situation.search()
    for sought in found:
        if not sought.found:
            yield _left_out(sought) if sought.optional else _not_found(sought, tell_bundle(situation))
    if all(sought.found for sought in found):
        yield ok(_amounts(found))


def check_packages(situation: Situation) -> Iterator[Finding]:
    if situation.parts is None or not situation.spec.machine.host.support_tools:
        yield skipped("no Debian packages are wanted")
        return
    wanted = situation.parts.packages
    missing = [name for name in wanted if name not in situation.host.packages.installed(wanted)]
    if not missing:
        yield ok("all there")
        return
    if situation.parts.find_debs(missing):
        yield ok(f"{len(missing)} will be installed from files of artifacts.sources; no archive is asked")
        return
    try:
        via = to_archives(situation.proxies, situation.spec)
        change = situation.host.packages.simulate(missing, via=via)
    except FlexError as failure:
        yield warning(
            failure.code,
            f"apt cannot say what it would do: {failure.message}",
            hint="apt-get update, and check apt's sources; without an archive, set host.supportTools: false,"
            f" or run {tell_bundle(situation)}",
        )
        return
    for verb, names in (("upgrade", change.upgrades), ("remove", change.removes)):
        if names:
            yield error(
                "package/would-upgrade" if verb == "upgrade" else "package/would-remove",
                f"installing {', '.join(missing)} would {verb} {', '.join(names)}",
                hint=f"{verb} them yourself when it suits you (apt-get install {' '.join(missing)}), or set"
                " host.supportTools: false",
            )
    if not change.upgrades and not change.removes:
        yield ok(f"{len(change.installs)} will be installed, and removed again when the machine leaves")


def check_dpkg(situation: Situation) -> Iterator[Finding]:
    if (holder := next(find_users(situation.host, DPKG_LOCKS), None)) is not None:
        yield warning(
            "package/locked",
            f"{holder} is working on the packages of this machine",
            hint="the product waits for it; if it hangs, look at it with: ps -f " + str(holder.pid),
        )
        return
    status = find_text(situation.host, "/var/lib/dpkg/status") or ""
    half_way = [
        paragraph.partition("Package: ")[2].partition("\n")[0]
        for paragraph in status.split("\n\n")
        if _HALF_WAY.search(paragraph)
    ]
    journal = [name for name in find_names(situation.host, "/var/lib/dpkg/updates") if name.isdigit()]
    if half_way or journal:
        what = f"{', '.join(half_way)} half-way installed" if half_way else "an interrupted run of dpkg"
        yield warning(
            "package/half-configured",
            f"there is {what}" if journal and not half_way else f"{what}",
            hint="dpkg --configure -a repairs that; the product does so before it installs packages",
        )
    else:
        yield ok("free, and nothing is half-way installed")


def _amounts(found: Sequence[Sought]) -> str:
    fetched = [sought for sought in found if not sought.stored]
    if not fetched:
        return "everything is in the store already"
    sizes = [sought.size for sought in fetched]
    known = sum(size for size in sizes if size is not None)
    amount = f"{render_size(known)}{' or more' if None in sizes else ''}" if known else "of unknown size"
    files = "1 file" if len(fetched) == 1 else f"{len(fetched)} files"
    stored = f"; {len(found) - len(fetched)} in the store already" if len(fetched) < len(found) else ""
    return f"{files} to fetch, {amount}{stored}"


def _refusals(missing: list[Sought]) -> dict[str, ArtifactError | None]:
    """By source: None if it answers sensibly, else why it cannot be used."""
    refusals: dict[str, ArtifactError | None] = {}
    for sought in missing:
        for answer in sought.answers:
            refused = answer.error is not None and answer.error.code not in _LACKING
            refusals[answer.source] = refusals.get(answer.source) or (answer.error if refused else None)
    return refusals


def _about(source: str, refusal: ArtifactError, bundle: str = "") -> ArtifactError:
    return ArtifactError(
        f"{source}: {refusal.message}",
        code=refusal.code,
        transient=refusal.transient,
        hint=_or_bundle(refusal, bundle),
        retry_after=refusal.retry_after,
    )


def _or_bundle(refusal: ArtifactError, bundle: str) -> str:
    """What to do about a source, and what to do where none can be reached."""
    hint = refusal.hint or "name another source in artifacts.sources"
    return f"{hint}; where no source is reached, run {bundle}" if bundle and refusal.transient else hint


def _left_out(sought: Sought) -> Finding:
    return warning(
        "artifact/left-out",
        f"{sought.artifact} is nowhere: a node works without it",
        hint="if you want it, add it to one of artifacts.sources: aks-flex-node artifacts mirror fills one",
    )


def _not_found(sought: Sought, bundle: str) -> Finding:
    """All sources refused: what that means together is for the door to say."""
    refusals = [Refusal(place=each.source, error=each.error) for each in sought.answers if each.error]
    if not refusals:
        return error(
            Code.NO_SOURCE,
            f"no source offers {sought.artifact}",
            hint="name one in artifacts.sources: a mirror, a directory or a bundle",
        )
    together = combine(sought.artifact, refusals)
    reasons = "; ".join(f"{each.place}: {each.error.message}" for each in refusals)
    return error(
        together.code,
        f"{sought.artifact} is nowhere: {reasons}",
        hint=_or_bundle(together, bundle),
        transient=together.transient,
        retry_after=together.retry_after,
    )
