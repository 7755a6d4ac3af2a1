"""Proxies: how containerd reaches registries."""

from __future__ import annotations

from collections.abc import Iterable

from flexnode.components.declare import quote_environment, text_file
from flexnode.components.inputs import MachineInputs
from flexnode.components.layout import CONTAINERD, drop_in
from flexnode.model.machine import Proxy
from flexnode.resources import Resource

NEVER = ("localhost", "127.0.0.1", "::1")
"""No proxy can stand between a machine and itself."""


def compose_proxy(inputs: MachineInputs) -> tuple[Resource, ...]:
    """A proxy without a password. One with a password is a credential, and lies in a file of its own."""
    proxy = inputs.machine.proxy
    if not (proxy.http or proxy.https):
        return ()
    text = render_drop_in(proxy, proxy.no_proxy)
    return (text_file(drop_in(CONTAINERD, "10-proxy.conf"), text, read_by=(CONTAINERD,)),)


def render_drop_in(proxy: Proxy, no_proxy: Iterable[str]) -> str:
    """Of a unit whose program goes through `proxy`, except to `no_proxy`."""
    variables = {"HTTP_PROXY": proxy.http, "HTTPS_PROXY": proxy.https, "NO_PROXY": join_no_proxy(no_proxy)}
    lines = [quote_environment(name, value) for name, value in variables.items() if value]
    return "[Service]\n" + "".join(lines)


def join_no_proxy(names: Iterable[str]) -> str:
    return ",".join(dict.fromkeys((*NEVER, *names)))
