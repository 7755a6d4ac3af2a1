"""The door to the Kubernetes API. Importing it imports no HTTP client: that happens at the first call."""

from flexnode.kube.client import KubeClient
from flexnode.kube.connection import (
    ClientCertificate,
    ClientCertificateFiles,
    Connection,
    Credential,
    TokenFile,
    parse_server,
)
from flexnode.kube.failures import Code
from flexnode.kube.kubeconfig import load_kubeconfig, parse_kubeconfig
from flexnode.kube.request import Api, Content, Request

__all__ = [
    "Api",
    "ClientCertificate",
    "ClientCertificateFiles",
    "Code",
    "Connection",
    "Content",
    "Credential",
    "KubeClient",
    "Request",
    "TokenFile",
    "load_kubeconfig",
    "parse_kubeconfig",
    "parse_server",
]
