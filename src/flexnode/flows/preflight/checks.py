"""All checks, by their stable names, in the order in which a report tells them."""

from __future__ import annotations

from flexnode.flows.preflight import (
    capacity,
    cluster,
    firewall,
    machine,
    naming,
    network,
    own,
    ports,
    proxy,
    reach,
    rivals,
    storage,
    supplies,
    sysctls,
    timekeeping,
    updates,
)
from flexnode.flows.preflight.check import Check, Level, Operation

ALWAYS = frozenset(Operation)
JOINING = frozenset({Operation.BOOTSTRAP})
STARTING = JOINING | {Operation.PREPARE}
CHANGING_NODE = JOINING | {Operation.UPGRADE}
CHANGING = STARTING | {Operation.UPGRADE}

CHECKS: tuple[Check, ...] = (
    Check(name="root", title="whether root runs it", run=machine.check_root, before=ALWAYS),
    Check(name="systemd", title="whether systemd runs the machine", run=machine.check_systemd, before=ALWAYS),
    Check(
        name="state",
        title="whether what the product knows of this machine can be read",
        run=own.check_state,
        before=ALWAYS,
    ),
    Check(name="os", title="Debian 12 or 13, Ubuntu 22.04 or 24.04", run=machine.check_os, before=STARTING),
    Check(name="kernel", title="Linux 5.19 or newer", run=machine.check_kernel, before=CHANGING),
    Check(
        name="kernel-features",
        title="namespaces, overlayfs, bridge filter, nftables, eBPF",
        run=machine.check_kernel_features,
        before=STARTING,
    ),
    Check(name="cgroup2", title="cgroup v2 and its controllers", run=machine.check_cgroup2, before=CHANGING),
    Check(
        name="swap", title="swap in use, and who switches it off", run=capacity.check_swap, before=STARTING
    ),
    Check(name="memory", title="the size of the memory", run=capacity.check_memory, before=STARTING),
    Check(name="cpus", title="the number of processors", run=capacity.check_cpus, before=STARTING),
    Check(
        name="disk",
        title="free space where artifacts, programs, images and pods lie",
        run=capacity.check_disk,
        before=CHANGING,
    ),
    Check(name="inodes", title="free inodes there", run=capacity.check_inodes, before=CHANGING),
    Check(
        name="writable",
        title="whether what is written to is mounted writable, and programs may be started",
        run=storage.check_writable,
        before=ALWAYS,
    ),
    Check(
        name="ulimits", title="the kernel's limits on files, processes, watches", run=capacity.check_ulimits
    ),
    Check(
        name="time-sync",
        title="whether something keeps the clock, and it is synchronised",
        run=timekeeping.check_time_sync,
        before=STARTING,
    ),
    Check(
        name="clock-skew",
        title="this machine's clock against the API server's",
        run=timekeeping.check_clock_skew,
        remote=True,
        before=CHANGING_NODE,
    ),
    Check(
        name="hostname",
        title="whether the host name can name a Node",
        run=naming.check_hostname,
        before=JOINING,
    ),
    Check(
        name="node-name",
        title="whether the Node of that name is this machine, or nobody",
        run=naming.check_node_name,
        remote=True,
        before=JOINING,
    ),
    Check(
        name="dns",
        title="the names of all servers that the machine is told to use",
        run=reach.check_dns,
        remote=True,
        before=CHANGING,
    ),
    Check(
        name="proxy",
        title="whether proxy settings fit together, and exempt the cluster",
        run=proxy.check_proxy,
        before=JOINING,
    ),
    Check(
        name="api-server",
        title="whether the API server answers",
        run=reach.check_api_server,
        remote=True,
        before=CHANGING_NODE,
    ),
    Check(
        name="ca",
        title="whether the API server's certificate comes from the cluster's CA",
        run=reach.check_ca,
        remote=True,
        before=CHANGING_NODE,
    ),
    Check(
        name="token",
        title="whether the cluster accepts the bootstrap token, or the node's certificate",
        run=reach.check_token,
        remote=True,
        before=CHANGING_NODE,
    ),
    Check(
        name="version-skew",
        title="kubelet's version against the API server's",
        run=cluster.check_version_skew,
        remote=True,
        before=CHANGING_NODE,
    ),
    Check(
        name="kube-proxy",
        title="whether the cluster makes Services work on its nodes",
        run=cluster.check_kube_proxy,
        remote=True,
    ),
    Check(
        name="serving-approver",
        title="whether somebody approves kubelets' serving certificates",
        run=cluster.check_serving_approver,
        remote=True,
    ),
    Check(
        name="catalog",
        title="whether the catalog has every file of the chosen versions",
        run=supplies.check_catalog,
        before=CHANGING,
    ),
    Check(
        name="artifact-sources",
        title="whether each source of artifacts answers",
        run=supplies.check_artifact_sources,
        remote=True,
        before=CHANGING,
    ),
    Check(
        name="artifacts",
        title="whether each needed file is in the store or at a source, and its size",
        run=supplies.check_artifacts,
        remote=True,
        before=CHANGING,
    ),
    Check(
        name="packages",
        title="what installing the needed Debian packages would do to others",
        run=supplies.check_packages,
        remote=True,  # apt may have to fetch its lists
        late=Level.WARNING,  # whoever installs asks apt again, and waits for it
        before=STARTING,
    ),
    Check(
        name="dpkg",
        title="whether dpkg is free, and nothing is half-way installed",
        run=supplies.check_dpkg,
        before=ALWAYS,
    ),
    Check(name="ports", title="TCP ports 10250, 10248, 10256", run=ports.check_ports, before=JOINING),
    Check(
        name="containerd-socket",
        title="who listens on containerd's socket",
        run=ports.check_containerd_socket,
        before=STARTING,
    ),
    Check(
        name="other-runtime",
        title="Docker, another containerd, CRI-O",
        run=rivals.check_other_runtime,
        before=STARTING,
    ),
    Check(
        name="other-kubernetes",
        title="another kubelet, K3s, RKE2, MicroK8s, k0s",
        run=rivals.check_other_kubernetes,
        before=STARTING,
    ),
    Check(
        name="left-overs",
        title="files, mounts, interfaces and rules of an earlier node",
        run=rivals.check_left_overs,
        before=STARTING,
    ),
    Check(
        name="sysctls",
        title="the user's sysctl files against what the node needs",
        run=sysctls.check_sysctls,
        before=STARTING,
    ),
    Check(
        name="firewall",
        title="packet filters that would drop what nodes and pods send",
        run=firewall.check_firewall,
        before=JOINING,
    ),
    Check(
        name="network-overlap",
        title="this machine's routes against the cluster's pod and service ranges",
        run=network.check_network_overlap,
        before=JOINING,
    ),
    Check(name="mtu", title="the packet size of the default route", run=network.check_mtu, before=JOINING),
    Check(name="updates", title="needrestart and unattended upgrades", run=updates.check_updates),
)
