"""PostgreSQL as a target: run by loadcell from its own or the machine's binaries, or standing already."""
