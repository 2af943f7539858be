"""Modules that make loads in the worker process, with the engine's own contract (`loadcell/_engine.pyi`): one a kind of load."""
