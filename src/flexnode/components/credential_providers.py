"""kubelet's image credential providers: programs of the user's that log in to registries."""

from __future__ import annotations

import json

from flexnode.components.declare import directory, link, text_file
from flexnode.components.joining import NodeInputs
from flexnode.components.layout import KUBELET, KUBELET_CONFIG
from flexnode.model.machine import CredentialProvider
from flexnode.resources import Resource

CONFIG = f"{KUBELET_CONFIG}/credential-providers.json"
PROGRAMS = f"{KUBELET_CONFIG}/credential-providers"
"""kubelet looks for a provider's program under its name in one directory; the user's may lie anywhere."""


def compose_credential_providers(inputs: NodeInputs) -> tuple[Resource, ...]:
    providers = inputs.spec.kubelet.credential_providers
    if not providers:
        return ()
    return (
        directory(PROGRAMS),
        *(link(f"{PROGRAMS}/{each.name}", each.binary, read_by=(KUBELET,)) for each in providers),
        # Its variables may hold what is nobody else's business.
        text_file(CONFIG, render_providers(providers), mode=0o600, read_by=(KUBELET,)),
    )


def credential_provider_flags(inputs: NodeInputs) -> tuple[str, ...]:
    """There is no field for these in kubelet's configuration."""
    if not inputs.spec.kubelet.credential_providers:
        return ()
    return (
        f"--image-credential-provider-config={CONFIG}",
        f"--image-credential-provider-bin-dir={PROGRAMS}",
    )


def render_providers(providers: tuple[CredentialProvider, ...]) -> str:
    """In the user's order: kubelet asks them in it."""
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1",
        "kind": "CredentialProviderConfig",
        "providers": [_provider(each) for each in providers],
    }
    return json.dumps(config, indent=2) + "\n"


def _provider(provider: CredentialProvider) -> dict[str, object]:
    settings: dict[str, object] = {
        "name": provider.name,
        "matchImages": list(provider.match_images),
        "defaultCacheDuration": provider.cache_duration,
        "apiVersion": provider.api_version,
    }
    if provider.args:
        settings["args"] = list(provider.args)
    if provider.env:
        settings["env"] = [{"name": name, "value": provider.env[name]} for name in sorted(provider.env)]
    return settings
