"""Runs AKS Flex Node from the folder that it was unpacked to; Python's own libraries follow those in it."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "lib"))

from flexnode.cli import main

main()
