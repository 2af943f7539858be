"""What baselines say of a machine, and two machines side by side: pages, terminal, JSON."""
