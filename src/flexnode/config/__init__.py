"""Configuration: documents of several sources, decoded strictly, merged into one value of known origin."""

from flexnode.config.layers import Layer, Provenance, Said
from flexnode.config.load import DIRECTORY, find_config, load_config
from flexnode.config.problems import InvalidConfig, Problem
from flexnode.config.resolve import Resolved, digest, fill_detected, find_origin

__all__ = [
    "DIRECTORY",
    "InvalidConfig",
    "Layer",
    "Problem",
    "Provenance",
    "Resolved",
    "Said",
    "digest",
    "fill_detected",
    "find_config",
    "find_origin",
    "load_config",
]
