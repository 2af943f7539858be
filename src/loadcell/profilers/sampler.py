"""Contract of samplers, which attach to a target for one trial, and their registry: modules with
`SAMPLER`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Protocol

from loadcell import profilers
from loadcell.model.profile_record import ProfileRecord
from loadcell.plan.profile import Profile
from loadcell.store.write import TrialWriter


class Sampler(Protocol):
    """Samples one trial; see `loadcell.profilers.perf.PerfSampler`. All methods may raise ProfilerError."""

    process_kind: Callable[[str], str]

    def attach(self, roots: list[int], *, by_thread: bool = False) -> None:
        """Begin to sample the trees of these processes."""

    def phase(self, name: str, mono_ns: int) -> None:
        """Note the phase of the load."""

    def end(self) -> None:
        """Detach from the target."""

    def collect(self, writer: TrialWriter, title: str, log: Callable[[str], None]) -> ProfileRecord:
        """Write the profile into the trial's directory."""
        ...

    def output(self) -> list[str]:
        """Lines that the profiler has printed so far."""
        ...

    def remove(self) -> None:
        """Remove its files."""


@cache
def _samplers() -> Mapping[str, Callable[[Profile, Path], Sampler]]:
    modules = pkgutil.iter_modules(profilers.__path__, profilers.__name__ + ".")
    registered = (getattr(importlib.import_module(module.name), "SAMPLER", None) for module in modules)
    return dict(entry for entry in registered if entry is not None)


def sampler_of(profile: Profile, work: Path) -> Sampler:
    """A sampler that takes this profile, with its files under `work`."""
    return _samplers()[profile.kind](profile, work)
