"""The runs of one plan over time: their values, changes of these, and other changes at the same time."""
