"""Section `python` of a workload's specification, as the worker reads it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

#: Environment variables that the interpreter gets: enough to find programs, libraries and a home.
_PASSED = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "VIRTUAL_ENV")
#: Larger blocks come from the kernel and return to it, so that the resident memory shows them. A threshold
#: that is set is not adapted any more (mallopt(3)).
_MMAP_FROM_BYTES = 128 * 1024


@dataclass(frozen=True)
class CodeSpec:
    """A function by its name (`package.module:function`), or statements; one of both."""

    call: str | None = None
    code: str | None = None


@dataclass(frozen=True)
class VerifySpec:
    """Comparison of results: those of a group are equal within a relative tolerance; rows in any order
    unless `ordered`.
    """

    group: str
    tolerance: float
    ordered: bool


@dataclass(frozen=True)
class ProfileSpec:
    """A profile of this load, with the options of its kind (`loadcell.plan.profile_python`)."""

    kind: str
    packages: Sequence[str] = ()
    frequency: int = 0
    tool: str = "auto"
    functions: Sequence[str] = ()
    least_ns: int = 0
    events: int = 0


@dataclass(frozen=True)
class PythonSpec:
    """The call, by which interpreter. `path` are directories for imports; `memory_bytes` is a limit.

    Calls of the functions `spans` are marked on the curve of the memory.
    """

    interpreter: str
    work: CodeSpec
    arguments: Mapping[str, object]
    path: Sequence[str]
    env: Mapping[str, str]
    gc: bool
    hash_seed: str
    packages: Sequence[str]
    processes: bool
    setup: CodeSpec | None = None
    data: CodeSpec | None = None
    teardown: CodeSpec | None = None
    memory_bytes: int | None = None
    verify: VerifySpec | None = None
    profile: ProfileSpec | None = None
    spans: Sequence[str] = ()

    @classmethod
    def of(cls, section: JsonObject) -> PythonSpec:
        """The section, parsed."""
        codes = {
            name: None if section[name] is None else CodeSpec(**section[name])
            for name in ("work", "setup", "data", "teardown")
        }
        verify = None if section["verify"] is None else VerifySpec(**section["verify"])
        profile = None if section["profile"] is None else ProfileSpec(**section["profile"])
        return cls(**{**section, **codes, "verify": verify, "profile": profile})

    def environment(self) -> dict[str, str]:
        """Environment of the interpreter."""
        passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
        by_lines = self.profile is not None and self.profile.kind == "lines"
        profiled = {"MALLOC_MMAP_THRESHOLD_": str(_MMAP_FROM_BYTES)} if by_lines else {}
        return {**passed, "PYTHONHASHSEED": self.hash_seed, **profiled, **self.env}

    def data_file(self, directory: Path) -> Path | None:
        """File of the data set in this directory: another one for other data, arguments or interpreters."""
        if self.data is None:
            return None
        described = [asdict(self.data), dict(self.arguments), self.interpreter, list(self.path)]
        digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()
        return directory / f"data-{digest[:16]}.pickle"
