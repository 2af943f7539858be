"""loadcell for Python and notebooks: `loadcell.check`, `run`, `load` and `compare`.

Nothing is imported until it is needed: `loadcell` gives access to the names in these modules.
"""
