"""Profilers that a process is started under: a module each, which registers with `LAUNCHER`."""
