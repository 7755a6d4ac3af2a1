"""Capabilities of a node: each one a pure function from spec, parts and facts to resources."""
