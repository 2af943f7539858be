"""The PostgreSQL server's own evidence: its counters, its checkpoints, what its sessions wait for, its
statements.
"""

from loadcell.systems.postgres.monitor.monitor import PostgresMonitor, PostgresMonitorOptions

PART = PostgresMonitor

__all__ = ["PART", "PostgresMonitor", "PostgresMonitorOptions"]
