"""The parts that a lab runs and serves: built from pinned sources, once, and kept by their inputs."""

from flexlab.parts.parts import Parts, available_kubernetes, ensure_parts, parts_dir

__all__ = ["Parts", "available_kubernetes", "ensure_parts", "parts_dir"]
