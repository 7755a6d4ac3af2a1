"""Which requests for a kubelet's serving certificate are in order.

A wrong approval hands a machine's name to somebody else, and no controller of Kubernetes decides this. That a
request is signed with the key that it is for needs no check: the API server refuses to store any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address

from flexnode.kube.certificates import SERVING_SIGNER, Csr
from flexnode.kube.nodes import Node
from flexnode.kube.pem import parse_request
from flexnode.kube.x509 import COMMON_NAME, ORGANIZATION, CertificateRequest, parse_certificate_request

USER_PREFIX = "system:node:"
GROUP = "system:nodes"

_REQUIRED = {"digital signature", "server auth"}
_ALLOWED = _REQUIRED | {"key encipherment"}  # RSA keys encipher, those of elliptic curves do not


def node_of(csr: Csr) -> str:
    """The name of the node that asks; empty if it is not a node."""
    name = csr.username.removeprefix(USER_PREFIX)
    return "" if name == csr.username else name


def find_flaw(csr: Csr, node: Node | None) -> str | None:
    """Why the request must not be approved, or None. `node` is the one that `node_of` names, if it exists."""
    if csr.signer != SERVING_SIGNER:
        return f"it is for the signer {csr.signer}"
    if not node_of(csr) or GROUP not in csr.groups:
        return f"{csr.username} is not a node"
    if node is None or node.name != node_of(csr):
        return f"the cluster has no node {node_of(csr)}"
    usages = set(csr.usages)
    if not _REQUIRED <= usages <= _ALLOWED:
        return f"its usages are {', '.join(sorted(usages)) or 'none'}"
    try:
        request = parse_certificate_request(parse_request(csr.request))
    except ValueError as error:
        return f"it cannot be read: {error}"
    if sorted(request.subject) != sorted([(COMMON_NAME, csr.username), (ORGANIZATION, GROUP)]):
        subject = ", ".join(value for _, value in request.subject)
        return f"its subject ({subject}) is not its requester {csr.username}"
    return _find_foreign_name(request, node)


def _find_foreign_name(request: CertificateRequest, node: Node) -> str | None:
    if request.other_names:
        return "it asks for names that are neither DNS names nor addresses"
    if not request.dns_names and not request.addresses:
        return "it asks for no name at all"
    addresses, names = _split(node.addresses)
    foreign = [str(each) for each in request.addresses if each not in addresses]
    foreign += [each for each in request.dns_names if each.lower() not in names]
    return f"{', '.join(foreign)} is not an address of {node.name}" if foreign else None


def _split(texts: Iterable[str]) -> tuple[set[IPv4Address | IPv6Address], set[str]]:
    addresses, names = set(), set()
    for text in texts:
        try:
            addresses.add(ip_address(text))
        except ValueError:
            names.add(text.lower())
    return addresses, names
