"""Systems under test: one package each, found by scanning (`loadcell.parts`)."""
