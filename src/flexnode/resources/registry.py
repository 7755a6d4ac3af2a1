"""Which handler is in charge of which kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flexnode.host.door import NO_PROXIES, Proxies
from flexnode.resources.account import GroupHandler, UserHandler
from flexnode.resources.directory import DirectoryHandler
from flexnode.resources.file import FileHandler
from flexnode.resources.handler import Handler
from flexnode.resources.image import ImageHandler
from flexnode.resources.kubeconfig import KubeconfigHandler
from flexnode.resources.link import LinkHandler
from flexnode.resources.module import ModuleHandler
from flexnode.resources.owned import OwnedHandler
from flexnode.resources.packages import PackagesHandler
from flexnode.resources.swap import SwapHandler
from flexnode.resources.sysctl import SysctlHandler
from flexnode.resources.unit import UnitHandler


def make_handlers(
    *, leave_node: Callable[[str], None] | None = None, via: Proxies = NO_PROXIES
) -> Mapping[str, Handler]:
    """Every kind's handler, by the part of a key before the colon.

    `leave_node` deletes the Node object of a name, or raises a FlexError if it may not; one that is gone
    already is fine. Without it nothing that owns a Node can leave. `via`: the way to package archives.
    """
    return {
        "file": FileHandler(),
        "link": LinkHandler(),
        "directory": DirectoryHandler(),
        "sysctl": SysctlHandler(),
        "module": ModuleHandler(),
        "packages": PackagesHandler(via),
        "unit": UnitHandler(),
        "swap": SwapHandler(),
        "user": UserHandler(),
        "group": GroupHandler(),
        "image": ImageHandler(),
        "kubeconfig": KubeconfigHandler(),
        "owned": OwnedHandler(leave_node),
    }
