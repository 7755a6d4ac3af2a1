"""Every setting of kubelet and of the Node at once, none with its default, and where a node shows each.

kubelet tells its configuration at /configz. Where that has no field for a setting, another way to see it is
named.
"""

from __future__ import annotations

from typing import Any, Final

LOGIN: Final = "/usr/local/lib/site-login"
LOGIN_TRACE: Final = "/run/site-login"

PROVIDER: Final[dict[str, Any]] = {
    "name": "site-login",
    "binary": LOGIN,
    "matchImages": ["registry.lab.internal:5000"],
    "apiVersion": "credentialprovider.kubelet.k8s.io/v1beta1",
    "cacheDuration": "1m0s",
    "args": ["--quiet"],
    "env": {"SITE": "hall"},
}

# kubelet runs it with the request on its standard input, and wants an answer of the version it asked for.
LOGIN_PROGRAM: Final = f"""\
#!/bin/sh
echo "$SITE $*" >{LOGIN_TRACE}
cat >>{LOGIN_TRACE}
echo '{{"apiVersion": "credentialprovider.kubelet.k8s.io/v1beta1", "kind": "CredentialProviderResponse",
       "cacheKeyType": "Registry", "auth": {{}}}}'
"""

KUBELET: Final[dict[str, Any]] = {
    "maxPods": 42,
    "verbosity": 4,
    "imageGCHighThresholdPercent": 75,
    "imageGCLowThresholdPercent": 60,
    "kubeReserved": {"cpu": "150m", "memory": "200Mi"},
    "systemReserved": {"memory": "100Mi"},
    "evictionHard": {"memory.available": "120Mi", "pid.available": "1000"},
    "podPidsLimit": 4096,
    "shutdownGracePeriod": "40s",
    "shutdownGracePeriodCriticalPods": "15s",
    "serializeImagePulls": True,
    "maxParallelImagePulls": 1,  # the only one that goes with the setting before it
    "containerLogMaxSize": "20Mi",
    "containerLogMaxFiles": 3,
    "protectKernelDefaults": False,
    "featureGates": {"CPUManagerPolicyAlphaOptions": True},
    "servingCertificates": "on",
    "credentialProviders": [PROVIDER],
}

CONFIGZ: Final[dict[str, str]] = {
    **{name: name for name in KUBELET if name not in ("verbosity", "servingCertificates")},
    "verbosity": "logging.verbosity",
    "servingCertificates": "serverTLSBootstrap",
}
"""By setting, where /configz has it: where the name is another one, that."""

NOT_IN_CONFIGZ: Final = {"credentialProviders": "kubelet runs the program when it pulls an image"}

OTHERWISE_IN_CONFIGZ: Final = {"servingCertificates": True}

NODE: Final[dict[str, Any]] = {
    "labels": {"example.com/rack": "7"},
    "annotations": {"example.com/contact": "hall 2, door 4"},
    "taints": ["example.com/site=edge:PreferNoSchedule"],
    "providerID": "flexnode://hall/7",
    "region": "westeurope",
    "zone": "hall-2",
}

CLUSTER: Final[dict[str, Any]] = {"domain": "site.internal", "dnsServiceIP": "10.96.0.11"}
