"""Campaigns: many random cases of one kind, for hours or, as a small variant, in `make test`."""
