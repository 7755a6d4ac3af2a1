"""The lab's network: a namespace of its own with a bridge, and a tap for each machine."""

from flexlab.network.impairment import Impairment, find_impairment, impair, mend
from flexlab.network.namespace import BRIDGE, add_tap, remove_tap, up

__all__ = ["BRIDGE", "Impairment", "add_tap", "find_impairment", "impair", "mend", "remove_tap", "up"]
