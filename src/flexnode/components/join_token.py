"""How kubelet first proves who it is: with a bootstrap token, for which it gets a certificate of its own."""

from __future__ import annotations

import json

from flexnode.components.declare import quote_environment, secret_file, text_file
from flexnode.components.joining import NodeInputs
from flexnode.components.layout import (
    BOOTSTRAP_KUBECONFIG,
    CLUSTER_CA,
    KUBELET,
    KUBELET_CERTIFICATE,
    drop_in,
)
from flexnode.errors import ConfigError
from flexnode.resources import Resource

TOKEN = "bootstrap-token"  # noqa: S105 (the name of a secret, not its value)


def compose_join_token(inputs: NodeInputs) -> tuple[Resource, ...]:
    """The flag stays when the token has gone: kubelet asks for the file only while it has no certificate.

    A node without a token and with a way into Azure joins through that, in a component of its own.
    """
    credentials = inputs.spec.credentials
    if credentials.bootstrap_token is None and credentials.azure is not None:
        return ()
    flags = quote_environment("KUBELET_JOIN_FLAGS", f"--bootstrap-kubeconfig={BOOTSTRAP_KUBECONFIG}")
    resources = (text_file(drop_in(KUBELET, "20-join.conf"), f"[Service]\n{flags}", read_by=(KUBELET,)),)
    if credentials.bootstrap_token is None:
        return resources
    return (
        *resources,
        secret_file(
            BOOTSTRAP_KUBECONFIG,
            render_kubeconfig(inputs.spec.cluster.server, token=f"{{{{{TOKEN}}}}}"),
            (TOKEN,),
            read_by=(KUBELET,),
            until=KUBELET_CERTIFICATE,
        ),
    )


def render_kubeconfig(server: str, *, token: str) -> str:
    """JSON, which every client takes for YAML. The authority's file is named, not quoted.

    kubelet copies that into the kubeconfig that it makes of this one, and so follows when the file changes.
    """
    if not server:
        raise ConfigError(
            "nothing says where the cluster's API server is",
            code="config/no-cluster-server",
            hint="set the cluster's server, https://HOST:PORT: aks-flex-node cluster node-config prints it",
        )
    name = "bootstrap"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority": CLUSTER_CA}}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(config, indent=2) + "\n"
