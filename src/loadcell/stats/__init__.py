"""Statistics without I/O: estimators, tests and fits; `MATH.md` derives them."""
