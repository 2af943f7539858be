"""Reports of baselines of one machine, and of two machines side by side: pages, terminal, JSON."""
