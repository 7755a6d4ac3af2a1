"""A node as a value, and the only code that changes a machine."""
