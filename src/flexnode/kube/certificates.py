"""Certificate signing requests: looking at them, and approving one."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from flexnode.clock import Clock
from flexnode.kube.failures import Code, failure
from flexnode.kube.objects import Listing, Meta, ask, find, list_all
from flexnode.kube.request import Api, Request, object_path, with_body
from flexnode.kube.time_format import render_time

CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
SERVING_SIGNER = "kubernetes.io/kubelet-serving"


class CsrState(StrEnum):
    """Where a request stands."""

    PENDING = "pending"
    APPROVED = "approved"  # the signer has not answered yet
    ISSUED = "issued"
    DENIED = "denied"
    FAILED = "failed"  # approved, but its signer could not issue it


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    reason: str = ""
    message: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    signer_name: str = ""
    username: str = ""
    groups: tuple[str, ...] | None = None
    usages: tuple[str, ...] | None = None
    request: str = ""


class _Status(msgspec.Struct, frozen=True):
    conditions: tuple[_Condition, ...] | None = None
    certificate: str | None = None


class _Csr(msgspec.Struct, frozen=True):
    metadata: Meta = Meta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


@dataclass(frozen=True, kw_only=True, slots=True)
class Csr:
    """A request for a certificate. `document` is the object as it was read: what was judged is approved."""

    name: str
    signer: str
    username: str
    groups: tuple[str, ...] = ()
    usages: tuple[str, ...] = ()
    request: str = ""  # PEM
    state: CsrState = CsrState.PENDING
    reason: str = ""  # why it was denied or has failed
    created: datetime | None = None
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)


def list_csrs(api: Api, signer: str = "") -> tuple[tuple[Csr, ...], str]:
    """The requests for one signer, or all of them; and the version of the list, to watch it from there."""
    query = {"fieldSelector": f"spec.signerName={signer}"} if signer else {}
    found, version = list_all(api, CSRS, Listing[dict[str, Any]], query)
    return tuple(view_csr(each) for each in found), version


def find_csr(api: Api, name: str) -> Csr | None:
    """The request of that name."""
    found = find(api, Request(path=object_path(CSRS, name)), dict[str, Any])
    return None if found is None else view_csr(found)


def approve_csr(api: Api, csr: Csr, *, reason: str, message: str, clock: Clock) -> Csr:
    """Approve exactly the request that was read: one that was replaced meanwhile is a conflict."""
    condition = {
        "type": "Approved",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastUpdateTime": render_time(clock.now()),
    }
    status = dict(csr.document.get("status") or {})
    status["conditions"] = [*(status.get("conditions") or ()), condition]
    # An item of a list does not say of which kind it is.
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
    document = {**csr.document, **kind, "status": status}
    path = object_path(CSRS, csr.name, "approval")
    return view_csr(ask(api, with_body("PUT", path, document), dict[str, Any]))


def view_csr(document: Mapping[str, Any]) -> Csr:
    """The values of a CertificateSigningRequest that the product looks at."""
    try:
        found = msgspec.convert(document, _Csr)
        request = b64decode(found.spec.request, validate=True).decode("ascii", errors="replace")
    except (msgspec.ValidationError, ValueError) as error:
        raise failure(Code.BAD_RESPONSE, f"a certificate request has an odd shape: {error}") from error
    meta, spec = found.metadata, found.spec
    state, reason = _state(found.status)
    return Csr(
        name=meta.name,
        signer=spec.signer_name,
        username=spec.username,
        groups=spec.groups or (),
        usages=spec.usages or (),
        request=request,
        state=state,
        reason=reason,
        created=meta.creation_timestamp,
        document=document,
    )


def _state(status: _Status) -> tuple[CsrState, str]:
    conditions = {condition.type: condition for condition in status.conditions or ()}
    for kind, state in (("Denied", CsrState.DENIED), ("Failed", CsrState.FAILED)):
        if kind in conditions:
            return state, conditions[kind].message or conditions[kind].reason
    if status.certificate:
        return CsrState.ISSUED, ""
    return (CsrState.APPROVED if "Approved" in conditions else CsrState.PENDING), ""
