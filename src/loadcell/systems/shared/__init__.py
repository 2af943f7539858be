"""What targets that run servers of their own have in common."""
