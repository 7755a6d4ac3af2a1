"""The daemon on a node: it brings the machine to its configuration, keeps it there, and says how it is."""
