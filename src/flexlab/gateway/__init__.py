"""What a cloud gives its machines: addresses, names, time, metadata, and one proxy to the outside."""

from flexlab.gateway.faults import DnsFault, GatewayFaults, ProxyFault, load_faults, save_faults

__all__ = ["DnsFault", "GatewayFaults", "ProxyFault", "load_faults", "save_faults"]
