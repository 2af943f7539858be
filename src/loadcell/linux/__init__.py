"""Linux: /proc, processes, affinity, the inventory of a host, probes with time limits."""
