"""loadcell measured against its peers. Each module is a command: `python -m bench.client_cost`."""
