"""Every way the Kubernetes API can fail us: its stable code, its kind, and what to do about it."""

from __future__ import annotations

from enum import StrEnum

from flexnode.errors import KubeError


class Code(StrEnum):
    """The stable codes of this door."""

    UNREACHABLE = "kube/unreachable"
    CONNECTION_LOST = "kube/connection-lost"
    TIMEOUT = "kube/timeout"
    DNS = "kube/dns"
    TLS_UNTRUSTED = "kube/tls-untrusted"
    TLS_FAILED = "kube/tls-failed"
    CLOCK = "kube/clock"
    PROXY = "kube/proxy"
    PROXY_AUTH = "kube/proxy-auth"
    UNAUTHORIZED = "kube/unauthorized"
    FORBIDDEN = "kube/forbidden"
    NAMESPACE_TERMINATING = "kube/namespace-terminating"
    NOT_FOUND = "kube/not-found"
    CONFLICT = "kube/conflict"
    ALREADY_EXISTS = "kube/already-exists"
    EXPIRED = "kube/expired"
    INVALID = "kube/invalid"
    THROTTLED = "kube/throttled"
    DISRUPTION_BUDGET = "kube/disruption-budget"
    SERVER_ERROR = "kube/server-error"
    BAD_RESPONSE = "kube/bad-response"
    BAD_SERVER = "kube/bad-server"
    BAD_CA = "kube/bad-ca"
    BAD_CREDENTIALS = "kube/bad-credentials"
    BAD_KUBECONFIG = "kube/bad-kubeconfig"
    KUBECONFIG_UNSUPPORTED = "kube/kubeconfig-unsupported"
    NO_CLUSTER_INFO = "kube/no-cluster-info"
    TOKEN_UNKNOWN = "kube/token-unknown"  # noqa: S105 the code of a failure
    CA_UNVERIFIED = "kube/ca-unverified"
    CLIENT_BUG = "kube/client-bug"


HINTS = {
    Code.UNREACHABLE: "check the server's address, and that the machine can reach it: route, firewall, proxy",
    Code.CONNECTION_LOST: "the API server restarts, or something in between cuts connections: try again",
    Code.TIMEOUT: "the API server is overloaded, or the network drops packets on the way: try again",
    Code.DNS: "check the server's name, and the machine's name servers (`resolvectl status`)",
    Code.TLS_UNTRUSTED: "take the cluster's CA certificate from its administrator; if it is the right one,"
    " somebody answers in the server's place",
    Code.TLS_FAILED: "check that the server's address and port are those of a Kubernetes API server",
    Code.CLOCK: "set the machine's clock (`timedatectl`, `systemctl restart systemd-timesyncd`)",
    Code.PROXY: "check the proxy; an API server inside the own network belongs in NO_PROXY",
    Code.PROXY_AUTH: "put user and password into the proxy's address: http://USER:PASSWORD@HOST:PORT",
    Code.UNAUTHORIZED: "the token or certificate is wrong, expired or revoked: get a new one"
    " (`aks-flex-node cluster token` makes bootstrap tokens)",
    Code.FORBIDDEN: "the cluster lacks a permission: its administrator can run `aks-flex-node cluster setup`,"
    " or use an account that may do this",
    Code.NAMESPACE_TERMINATING: "wait until the namespace is gone",
    Code.NOT_FOUND: "check the name and the namespace",
    Code.CONFLICT: "somebody else changed it at the same moment: read it again and repeat",
    Code.ALREADY_EXISTS: "choose another name, or delete what is there",
    Code.EXPIRED: "list again from the beginning",
    Code.INVALID: "the cluster's version may not know what was asked of it: check `kubectl version`",
    Code.THROTTLED: "the API server asks for patience",
    Code.DISRUPTION_BUDGET: "wait until more of that application's pods are healthy, or change its budget",
    Code.SERVER_ERROR: "the API server itself is in trouble: look at its log, try again later",
    Code.BAD_RESPONSE: "something else than a Kubernetes API server answers there: a login page, a proxy,"
    " a load balancer; check the address, and sign in to the network",
    Code.BAD_SERVER: "an API server is written https://HOST:PORT, without user and password",
    Code.BAD_CA: "a CA is PEM text: one or more certificates, each from BEGIN CERTIFICATE to END CERTIFICATE",
    Code.BAD_CREDENTIALS: "check that the files exist, belong together, and can be read by this user",
    Code.BAD_KUBECONFIG: "check the file with `kubectl config view --kubeconfig FILE`",
    Code.KUBECONFIG_UNSUPPORTED: "use a kubeconfig with a client certificate or a token: for an AKS cluster"
    " `az aks get-credentials --admin`, elsewhere `kubectl create token`",
    Code.NO_CLUSTER_INFO: "give the CA itself: this cluster publishes none (kube-public/cluster-info)",
    Code.TOKEN_UNKNOWN: "make a new token: `aks-flex-node cluster token`",
    Code.CA_UNVERIFIED: "check the token and the CA hashes; if they are right, somebody answers in the"
    " server's place, and nothing that it said was used",
    Code.CLIENT_BUG: "this is a defect of aks-flex-node: please report it with the command that led here",
}

TRANSIENT = frozenset(
    {
        Code.UNREACHABLE,
        Code.CONNECTION_LOST,
        Code.TIMEOUT,
        Code.DNS,
        Code.TLS_FAILED,
        Code.CLOCK,
        Code.PROXY,
        Code.NAMESPACE_TERMINATING,
        Code.CONFLICT,
        Code.EXPIRED,
        Code.THROTTLED,
        Code.DISRUPTION_BUDGET,
        Code.SERVER_ERROR,
    }
)


def failure(code: Code, message: str, *, hint: str = "", retry_after: float | None = None) -> KubeError:
    """A failure of this door, its kind decided by its code."""
    return KubeError(
        message,
        code=code.value,
        transient=code in TRANSIENT,
        hint=hint or HINTS[code],
        retry_after=retry_after,
    )
