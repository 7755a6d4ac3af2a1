"""Every way a file can fail to arrive: its stable code, its kind, and what to do about it.

Codes never change once released. `artifact/` failures of one source say nothing about the others: the fetcher
asks the next one, and `settle` says what all of them together mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from flexnode.errors import ArtifactError
from flexnode.model import Artifact


class Code(StrEnum):
    """The stable codes of this door."""

    DIGEST_MISMATCH = "artifact/digest-mismatch"
    NOT_FOUND = "artifact/not-found"
    INTERCEPTED = "artifact/intercepted"
    UNTRUSTED_TLS = "artifact/untrusted-tls"
    TLS_FAILED = "artifact/tls-failed"
    DNS_TIMEOUT = "artifact/dns-timeout"
    DNS_NXDOMAIN = "artifact/dns-nxdomain"
    PROXY_REFUSED = "artifact/proxy-refused"
    PROXY_AUTH = "artifact/proxy-auth"
    PROXY_INVALID = "artifact/proxy-invalid"
    CONNECT_FAILED = "artifact/connect-failed"
    CONNECTION_LOST = "artifact/connection-lost"
    TRUNCATED = "artifact/truncated"
    TOO_SLOW = "artifact/too-slow"
    THROTTLED = "artifact/throttled"
    SERVER_ERROR = "artifact/server-error"
    FORBIDDEN = "artifact/forbidden"
    REFUSED = "artifact/refused"
    UNREADABLE = "artifact/unreadable"
    BAD_SOURCE = "artifact/bad-source"
    NO_SOURCE = "artifact/no-source"
    NO_SPACE = "artifact/no-space"
    STORE_UNWRITABLE = "artifact/store-unwritable"
    BUSY = "artifact/busy"
    NOT_STAGED = "artifact/not-staged"
    CANCELLED = "artifact/cancelled"
    UNSAFE_ARCHIVE = "artifact/unsafe-archive"
    BAD_ARCHIVE = "artifact/bad-archive"
    MEMBER_MISSING = "artifact/member-missing"
    BAD_MANIFEST = "artifact/bad-manifest"
    CLIENT_BUG = "artifact/client-bug"


HINTS = {
    Code.DIGEST_MISMATCH: "the source holds a damaged or different file: have its owner replace it, or name"
    " another source; nothing of it was used",
    Code.NOT_FOUND: "check that the source holds this version; `aks-flex-node artifacts mirror` fills one",
    Code.INTERCEPTED: "sign in to the network, or let the proxy pass this host, then run again",
    Code.UNTRUSTED_TLS: "if the certificate is your own authority's, pass it with --ca-bundle or install it"
    " on the machine; if not, somebody answers in the server's place",
    Code.TLS_FAILED: "check that the source speaks TLS on this port",
    Code.DNS_TIMEOUT: "check the machine's name servers (`resolvectl status`, /etc/resolv.conf)",
    Code.DNS_NXDOMAIN: "check the spelling of the source, and that the machine's name servers know it",
    Code.PROXY_REFUSED: "check HTTPS_PROXY and HTTP_PROXY, and that the proxy lets this host pass; hosts that"
    " need no proxy belong in NO_PROXY",
    Code.PROXY_AUTH: "put user and password into the proxy's address: http://USER:PASSWORD@HOST:PORT",
    Code.PROXY_INVALID: "a proxy is written http://HOST:PORT or https://HOST:PORT",
    Code.CONNECT_FAILED: "check that the machine can reach the source: route, firewall, proxy",
    Code.CONNECTION_LOST: "run again: what has arrived is kept and the rest is fetched",
    Code.TRUNCATED: "run again; if it stays, the source or a proxy in between cuts the file short",
    Code.TOO_SLOW: "name a nearer source, or lower the least acceptable rate with --min-rate",
    Code.THROTTLED: "the source asks for patience; a mirror of your own does not",
    Code.SERVER_ERROR: "the source itself is in trouble: try again later, or name another one",
    Code.FORBIDDEN: "check the credentials in the source's address, and that they may read this file",
    Code.REFUSED: "check the source's address",
    Code.UNREADABLE: "check the path, its permissions and the disk it lies on",
    Code.BAD_SOURCE: "a source is https://HOST/PATH, a directory, a bundle file, oci://HOST/REPOSITORY,"
    " oci-layout:DIR, or the word vendor",
    Code.NO_SOURCE: "name a source with --source: a mirror, a directory or a bundle",
    Code.NO_SPACE: "free that much there, then run again; nothing else on the machine was touched",
    Code.STORE_UNWRITABLE: "check that the file system is mounted read-write and writable for this user",
    Code.BUSY: "wait for its end, or name another file",
    Code.NOT_STAGED: "fetch it first",
    Code.CANCELLED: "run again to go on",
    Code.UNSAFE_ARCHIVE: "do not use this archive; nothing of it was unpacked",
    Code.BAD_ARCHIVE: "the file is not the archive that the catalog describes; nothing of it was unpacked",
    Code.MEMBER_MISSING: "the catalog names a file that this archive does not hold: correct the catalog",
    Code.BAD_MANIFEST: "make the mirror or the bundle anew",
    Code.CLIENT_BUG: "this is a defect of aks-flex-node: please report it with the command that led here",
}

TRANSIENT = frozenset(
    {
        Code.TLS_FAILED,
        Code.DNS_TIMEOUT,
        # A resolver that is still starting answers NXDOMAIN too, so a few more questions are worth it: see
        # `settle`.
        Code.DNS_NXDOMAIN,
        Code.PROXY_REFUSED,
        Code.CONNECT_FAILED,
        Code.CONNECTION_LOST,
        Code.TRUNCATED,
        Code.TOO_SLOW,
        Code.THROTTLED,
        Code.SERVER_ERROR,
        # Logs rotate and unused images get collected: space comes back without anybody's input changing.
        Code.NO_SPACE,
        Code.BUSY,
        Code.CANCELLED,
    }
)


class LocalFailure(ArtifactError):
    """The trouble is on this machine's side: no other source and no second attempt can help now."""


def failure(code: Code, message: str, *, hint: str = "", retry_after: float | None = None) -> ArtifactError:
    """The failure of one attempt at one source, or of one archive."""
    return ArtifactError(
        message,
        code=code.value,
        transient=code in TRANSIENT,
        hint=hint or HINTS[code],
        retry_after=retry_after,
    )


class MalformedSource(ArtifactError):
    """A text that names no source at all, whatever the machine and the network are like."""

    exit_code = 2


def malformed_source(message: str, *, hint: str = "") -> MalformedSource:
    return MalformedSource(message, code=Code.BAD_SOURCE.value, hint=hint or HINTS[Code.BAD_SOURCE])


def local_failure(code: Code, message: str) -> LocalFailure:
    return LocalFailure(message, code=code.value, transient=code in TRANSIENT, hint=HINTS[code])


def no_space(where: Path, *, missing: int | None, what: str) -> LocalFailure:
    """`missing` is how many bytes more are needed, None where nobody knows the full size."""
    amount = "more space" if missing is None else f"{render_size(max(missing, 1))} more"
    return local_failure(Code.NO_SPACE, f"no space for {what}: {where} needs {amount}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """What one place answered."""

    place: str
    error: ArtifactError


# Which of several different terminal answers tells the user most: a wrong file before a missing one.
_PRECEDENCE = (
    Code.DIGEST_MISMATCH,
    Code.INTERCEPTED,
    Code.UNTRUSTED_TLS,
    Code.PROXY_AUTH,
    Code.PROXY_INVALID,
    Code.FORBIDDEN,
    Code.REFUSED,
    Code.UNREADABLE,
    Code.NOT_FOUND,
)


def combine(artifact: Artifact, refusals: Sequence[Refusal]) -> ArtifactError:
    """What it means that every place failed: transient as soon as one of them may answer better later."""
    waiting = [refusal.error for refusal in refusals if refusal.error.transient]
    ranks = {code.value: rank for rank, code in enumerate(_PRECEDENCE)}
    errors = waiting or sorted(
        (r.error for r in refusals), key=lambda error: ranks.get(error.code, len(ranks))
    )
    first = errors[0]
    pauses = [error.retry_after for error in waiting if error.retry_after is not None]
    return ArtifactError(
        _tell(artifact, refusals),
        code=first.code,
        transient=first.transient,
        hint=first.hint,
        retry_after=max(pauses, default=None),
    )


def settle(artifact: Artifact, refusals: Sequence[Refusal]) -> ArtifactError:
    """`combine`, after the last attempt: what stayed the same through all of them will not pass by itself."""
    codes = {refusal.error.code for refusal in refusals}
    if codes <= {Code.TRUNCATED.value, Code.DIGEST_MISMATCH.value}:
        return failure(Code.DIGEST_MISMATCH, _tell(artifact, refusals))
    still_waiting = {r.error.code for r in refusals if r.error.transient} - {Code.DNS_NXDOMAIN.value}
    if Code.DNS_NXDOMAIN.value in codes and not still_waiting:
        return ArtifactError(
            _tell(artifact, refusals),
            code=Code.DNS_NXDOMAIN.value,
            transient=False,
            hint=HINTS[Code.DNS_NXDOMAIN],
        )
    return combine(artifact, refusals)


def _tell(artifact: Artifact, refusals: Sequence[Refusal]) -> str:
    lines = [f"  {refusal.place}: {refusal.error.message}" for refusal in refusals]
    return "\n".join([f"{artifact} could not be fetched from any source:", *lines])


def render_size(count: float) -> str:
    """Bytes as people write them: 512 B, 3.4 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")
