"""AKS Flex Node: any Ubuntu or Debian machine becomes a managed Kubernetes worker node."""

__version__ = "0.1.0"
