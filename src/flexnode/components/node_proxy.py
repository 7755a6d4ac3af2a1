"""Proxies of a joined node: kubelet's, which never go to pods and services, and those with a password."""

from __future__ import annotations

from flexnode.components.declare import secret_file, text_file
from flexnode.components.ipv6 import split_networks
from flexnode.components.joining import NodeInputs
from flexnode.components.layout import CONTAINERD, KUBELET, KUBERNETES, drop_in
from flexnode.components.proxy import join_no_proxy, render_drop_in
from flexnode.resources import Resource

CREDENTIALS = f"{KUBERNETES}/proxy.env"
HTTP, HTTPS = "http-proxy", "https-proxy"


def compose_node_proxy(inputs: NodeInputs) -> tuple[Resource, ...]:
    return (*_compose_kubelet(inputs), *_compose_credentials(inputs))


def _compose_kubelet(inputs: NodeInputs) -> tuple[Resource, ...]:
    proxy = inputs.spec.machine.proxy
    if not (proxy.http or proxy.https):
        return ()
    text = render_drop_in(proxy, _no_proxy(inputs))
    return (text_file(drop_in(KUBELET, "30-proxy.conf"), text, read_by=(KUBELET,)),)


def _compose_credentials(inputs: NodeInputs) -> tuple[Resource, ...]:
    """A file for root alone, in the form in which nothing of a URL needs to be escaped.

    What it sets wins over the drop-ins without passwords. Everybody may read a unit's drop-ins.
    """
    credentials = inputs.spec.credentials
    lines = {}
    if credentials.http_proxy is not None:
        lines[HTTP] = f"HTTP_PROXY={{{{{HTTP}}}}}\n"
    if credentials.https_proxy is not None:
        lines[HTTPS] = f"HTTPS_PROXY={{{{{HTTPS}}}}}\n"
    if not lines:
        return ()
    template = "".join(lines.values()) + f"NO_PROXY={join_no_proxy(_no_proxy(inputs))}\n"
    text = f"[Service]\nEnvironmentFile={CREDENTIALS}\n"
    units = (CONTAINERD, KUBELET)
    secret = secret_file(CREDENTIALS, template, lines, read_by=units)
    return (
        secret,
        *(
            text_file(drop_in(unit, "40-proxy-credentials.conf"), text, read_by=(unit,), after=(secret.key,))
            for unit in units
        ),
    )


def _no_proxy(inputs: NodeInputs) -> tuple[str, ...]:
    """What the user listed, and what no proxy outside of the cluster can reach."""
    cluster = inputs.spec.cluster
    return (
        *inputs.spec.machine.proxy.no_proxy,
        *split_networks(cluster.pod_cidr),
        *split_networks(cluster.service_cidr),
        ".svc",
        f".{cluster.domain}",
    )
