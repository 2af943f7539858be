"""Plans without faults, to which tests add some."""

from __future__ import annotations

from pathlib import Path

from loadcell.parts import installed
from loadcell.plan.load import LoadedPlan, load_plan

PLAN = """
target: {redis: {server: local}}
workload: {kv: {keys: 10}}
load: {clients: 2, duration: 30s}
"""
EXTERNAL = PLAN.replace("server: local", "server: external, host: 127.0.0.1")
ALLOWED = PLAN.replace("server: local", "server: external, host: 127.0.0.1, faults-allowed: true")
HTTP = """
target: {http: {url: "http://127.0.0.1:80", faults-allowed: true}}
workload: {http: {requests: {get: {path: /}}}}
load: {clients: 2, duration: 30s}
"""
COMMAND = """
target: {command: {command: "python3 -m http.server {port}", url: "http://127.0.0.1:{port}"}}
workload: {http: {requests: {get: {path: /}}}}
load: {clients: 2, duration: 30s}
"""
STORE = "target: {store: {engine: sqlite}}\nworkload: {kv: {keys: 10}}\nload: {clients: 2, duration: 30s}\n"
POSTGRES = "workload: {pgbench: {scale: 1}}\nload: {clients: 2, duration: 30s}\n"
STANDBY = POSTGRES + "target: {postgres: {standbys: {count: 1}}}\n"


def read(home: Path, text: str) -> LoadedPlan:
    """Write and load a plan. Raises PlanError."""
    (home / "plan.yaml").write_text(text)
    return load_plan(home / "plan.yaml", installed())
