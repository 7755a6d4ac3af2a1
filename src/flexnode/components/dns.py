"""Host DNS, as pods inherit it."""

from __future__ import annotations

from flexnode.model.facts import Facts


def resolv_conf(facts: Facts) -> str:
    """The file whose name servers pods are given.

    Where systemd-resolved answers, /etc/resolv.conf names an address of the machine itself, which in a pod
    means the pod: the file of the servers behind it is meant.
    """
    return "/run/systemd/resolve/resolv.conf" if facts.resolved else "/etc/resolv.conf"
