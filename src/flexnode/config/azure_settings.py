"""The settings of what lets a node in, and of the part of Azure that it belongs to."""

from __future__ import annotations

from flexnode.config import texts
from flexnode.config.tree import Effect, Section, Setting
from flexnode.config.types import Flag

AUTH = Section(
    about="What lets the node into its cluster and into Azure: a bootstrap token, and at most one Azure "
    "credential (none: the login of the Azure CLI).",
    fields={
        "bootstrapToken": Setting(
            type=texts.TOKEN,
            about="The token that the node joins with.",
            effect=Effect.JOIN,
            unset="the node joins with its Azure credential",
        ),
        "servicePrincipal": Section(
            about="An application of Entra ID.",
            chosen=True,
            fields={
                "tenantId": Setting(
                    type=texts.GUID,
                    about="Its tenant.",
                    effect=Effect.KUBELET,
                    unset="azure.tenantId",
                ),
                "clientId": Setting(type=texts.GUID, about="Its client id.", effect=Effect.KUBELET),
                "clientSecret": Setting(
                    type=texts.CLIENT_SECRET, about="Its client secret.", effect=Effect.NOTHING
                ),
            },
        ),
        "managedIdentity": Section(
            about="The identity that Azure gave this machine. An empty map is its system-assigned one.",
            chosen=True,
            fields={
                "clientId": Setting(
                    type=texts.GUID,
                    about="Which of several user-assigned identities.",
                    effect=Effect.KUBELET,
                    unset="the only one, or the system-assigned one",
                ),
            },
        ),
        "arc": Setting(
            type=Flag(),
            about="Whether the identity is the one that Azure Arc gives this machine; azure.arc describes "
            "the machine.",
            effect=Effect.KUBELET,
            default=False,
        ),
    },
)

AZURE = Section(
    about="The AKS cluster to join, and through which part of Azure.",
    optional=True,
    fields={
        "cloud": Setting(
            type=texts.CLOUD,
            about="The cloud: AzurePublicCloud, AzureUSGovernment, AzureChinaCloud, or any other together "
            "with resourceManagerEndpoint.",
            effect=Effect.KUBELET,
            default="AzurePublicCloud",
        ),
        "subscriptionId": Setting(
            type=texts.GUID,
            about="The subscription of the machine in Azure Arc.",
            effect=Effect.JOIN,
            unset="the cluster's",
        ),
        "tenantId": Setting(
            type=texts.GUID,
            about="The tenant of Entra ID.",
            effect=Effect.KUBELET,
            unset="the credential's own",
        ),
        "resourceManagerEndpoint": Setting(
            type=texts.HTTPS_URL,
            about="Azure Resource Manager, where it is not the cloud's own.",
            effect=Effect.NOTHING,
            unset="the cloud's own",
        ),
        "cluster": Section(
            about="The AKS cluster.",
            fields={
                "resourceId": Setting(
                    type=texts.CLUSTER_RESOURCE_ID, about="Its resource id.", effect=Effect.JOIN
                ),
                "location": Setting(
                    type=texts.LOCATION,
                    about="Its region.",
                    effect=Effect.NOTHING,
                    unset="asked of Azure",
                ),
                "agentPool": Setting(
                    type=texts.AGENT_POOL,
                    about="The agent pool that the machine belongs to.",
                    effect=Effect.NOTHING,
                    unset="none",
                ),
            },
        ),
        "arc": Section(
            about="The machine in Azure Arc.",
            fields={
                "machineName": Setting(
                    type=texts.MACHINE_NAME,
                    about="Its name there.",
                    effect=Effect.JOIN,
                    unset="the Node's name",
                ),
                "resourceGroup": Setting(
                    type=texts.RESOURCE_GROUP, about="Its resource group.", effect=Effect.JOIN
                ),
                "location": Setting(
                    type=texts.LOCATION, about="Its region.", effect=Effect.JOIN, unset="the cluster's"
                ),
                "tags": Setting(type=texts.TAGS, about="Its tags.", effect=Effect.NOTHING, unset="none"),
                "autoRoleAssignment": Setting(
                    type=Flag(),
                    about="Whether its identity is given the roles it needs on the cluster.",
                    effect=Effect.NOTHING,
                    default=True,
                ),
            },
        ),
    },
)
