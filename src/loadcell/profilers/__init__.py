"""Look into the processes of a target, at a price: in trials that count in no figure."""
