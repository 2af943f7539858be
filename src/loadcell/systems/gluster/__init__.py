"""GlusterFS on this machine: hosts as namespaces, a volume on them, and its mount under a target's data."""
