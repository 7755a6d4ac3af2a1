"""The laboratory: a real control plane, real machines, a real network, with one command."""
