"""DuckDB: target, workload and the load that runs in the worker process."""
