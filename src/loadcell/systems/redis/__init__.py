"""Redis as a target, and what speaks as it does: a server run by loadcell from the machine's binaries, or one that stands already."""
