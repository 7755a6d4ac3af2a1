"""The settings of a node in its cluster, and of the agent that looks after it."""

from __future__ import annotations

from flexnode.config import texts
from flexnode.config.tree import Effect, Section, Setting
from flexnode.config.types import Choice, Flag, ListOf

CLUSTER = Section(
    about="The cluster to join.",
    fields={
        "server": Setting(
            type=texts.HTTPS_SERVER,
            about="The API server: https://HOST[:PORT]. For a joined node, another way to the same cluster.",
            effect=Effect.KUBELET,
            unset="asked of Azure, where azure.cluster.resourceId names an AKS cluster",
            detected=True,
        ),
        "ca": Setting(
            type=texts.CERTIFICATES,
            about="The authorities, in PEM, that the API server's certificate comes from.",
            effect=Effect.KUBELET,
            unset="found through caHashes, or asked of Azure for an AKS cluster",
            detected=True,
        ),
        "caHashes": Setting(
            type=ListOf(item=texts.CA_HASH, least=1),
            about="Hashes of the CA's public key, in place of ca: the CA that the server shows is taken if "
            "it has one of them.",
            effect=Effect.JOIN,
            unset="ca is needed",
        ),
        "dnsServiceIP": Setting(
            type=texts.ADDRESS,
            about="The address of the cluster's DNS service.",
            effect=Effect.KUBELET,
            unset="asked of the cluster",
            detected=True,
        ),
        "domain": Setting(
            type=texts.SUBDOMAIN,
            about="The cluster's DNS domain.",
            effect=Effect.KUBELET,
            default="cluster.local",
            detected=True,
        ),
        "serviceCIDR": Setting(
            type=texts.NETWORK,
            about="The network of services: one range, or one of each family, separated by a comma.",
            effect=Effect.KUBELET,
            unset="asked of the cluster",
            detected=True,
        ),
        "podCIDR": Setting(
            type=texts.NETWORK,
            about="The network of all pods: one range, or one of each family, separated by a comma.",
            effect=Effect.KUBELET,
            unset="asked of the cluster",
            detected=True,
        ),
    },
    computed={"id": "it is computed from the cluster's CA"},
)

NODE = Section(
    about="Who the node is in its cluster.",
    fields={
        "name": Setting(
            type=texts.SUBDOMAIN,
            about="The Node's name.",
            effect=Effect.NAME,
            unset="the machine's host name, in lower case",
            detected=True,
        ),
        "labels": Setting(
            type=texts.LABELS,
            about="Labels of the Node. Those that a node may not set on itself are refused here.",
            effect=Effect.KUBELET,
            unset="none but kubelet's own",
        ),
        "annotations": Setting(
            type=texts.ANNOTATIONS,
            about="Annotations of the Node.",
            effect=Effect.NOTHING,
            unset="none",
        ),
        "taints": Setting(
            type=ListOf(item=texts.TAINT),
            about="Taints that the Node registers with, as kubectl writes them: KEY[=VALUE]:EFFECT.",
            effect=Effect.REGISTRATION,
            unset="none",
        ),
        "ip": Setting(
            type=texts.ADDRESS,
            about="The address that the node is known by.",
            effect=Effect.KUBELET,
            unset="the one that the machine's default route uses",
        ),
        "providerID": Setting(
            type=texts.PROVIDER_ID,
            about="What cloud controllers and autoscalers know the machine by: SCHEME://ID.",
            effect=Effect.REGISTRATION,
            unset="none",
        ),
        "region": Setting(
            type=texts.LABEL_VALUE,
            about="The label topology.kubernetes.io/region.",
            effect=Effect.KUBELET,
            unset="no such label",
        ),
        "zone": Setting(
            type=texts.LABEL_VALUE,
            about="The label topology.kubernetes.io/zone.",
            effect=Effect.KUBELET,
            unset="no such label",
        ),
    },
)

AGENT = Section(
    about="The agent itself.",
    fields={
        "logLevel": Setting(
            type=Choice(options=("debug", "info", "warning", "error")),
            about="How much the agent logs.",
            effect=Effect.AGENT,
            default="info",
        ),
        "logDirectory": Setting(
            type=texts.PATH,
            about="Where the agent's log files lie.",
            effect=Effect.AGENT,
            default="/var/log/aks-flex-node",
        ),
        "drift": Setting(
            type=Choice(options=("repair", "report")),
            about="What happens to a managed thing that somebody changed.",
            effect=Effect.AGENT,
            default="repair",
        ),
        "fullCheckInterval": Setting(
            type=texts.DURATION,
            about="How often everything that the product manages is looked at, and every file of it read.",
            effect=Effect.AGENT,
            default="1h",
        ),
        "bootstrapTimeout": Setting(
            type=texts.DURATION,
            about="How long a bootstrap may take.",
            effect=Effect.AGENT,
            default="15m",
        ),
        "verifyTimeout": Setting(
            type=texts.DURATION,
            about="How long a node may take to be Ready after a change before the change is rolled back.",
            effect=Effect.AGENT,
            default="5m",
        ),
        "drain": Section(
            about="How the node is emptied before a change that its pods cannot stay for: another minor "
            "version of Kubernetes, another kind of pod network. Where that fails nothing is changed, the "
            "node stays cordoned, and the agent tries again.",
            fields={
                "timeout": Setting(
                    type=texts.DURATION,
                    about="How long one attempt may take: disruption budgets may forbid evictions that long.",
                    effect=Effect.AGENT,
                    default="5m",
                ),
                "deleteEmptyDirData": Setting(
                    type=Flag(),
                    about="Whether pods are evicted whose emptyDir volumes are lost with them.",
                    effect=Effect.AGENT,
                    default=False,
                ),
                "evictUnmanaged": Setting(
                    type=Flag(),
                    about="Whether pods are evicted that no controller starts again elsewhere.",
                    effect=Effect.AGENT,
                    default=False,
                ),
            },
        ),
    },
)
