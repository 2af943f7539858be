"""Requirements of profilers on this machine: programs, and packages that Maven downloads.

Without them the profiled trials fail, and nothing else. So a lack is noted before the first trial.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from loadcell.execution.target_pool import fetch
from loadcell.model.message import Message, MessageCode, MessageError, as_written
from loadcell.plan.load import LoadedPlan
from loadcell.plan.parts import Parts
from loadcell.plan.profile import Profile
from loadcell.profilers import sampler
from loadcell.profilers.perf import ProfilerError
from loadcell.systems.base import TargetError
from loadcell.systems.shared.packages import (
    PACKAGE_NO_MAVEN,
    PACKAGE_WILL_BE_FETCHED,
    Artifact,
    packages_directory,
)
from loadcell.workloads.composite import CompositeWorkload

#: Treatments whose workloads are asked.
_TREATMENTS = 100
NO_PROFILE = MessageCode("no-profile", "info", error=Message, remedy=Message)


def package(profile: Profile) -> Artifact | None:
    """The package that the profile needs; None without one."""
    wanted = sampler.download(profile)
    if wanted is None:
        return None
    option = f"profile.{profile.kind}.library"
    return Artifact(wanted.group, wanted.name, wanted.version, wanted.sha256, option)


def unpacked(profile: Profile) -> Path | None:
    """The directory of the profile's package, which may not be there yet; None without a package."""
    try:
        wanted = package(profile)
        return None if wanted is None else wanted.directory
    except TargetError:
        return None


def remarks(profiles: Sequence[Profile]) -> Iterator[Message]:
    """Lacks of this machine, and downloads before the first trial, each once."""
    shown: dict[str, Message] = {}
    for profile in profiles:
        message = _lack(profile) or _to_be_fetched(profile)
        if message is not None:
            shown.setdefault(message.text, message)
    yield from shown.values()


def lacks_of_workloads(plan: LoadedPlan, parts: Parts) -> Iterator[Message]:
    """Lacks of this machine for profiles of workloads of a plan, each once."""
    shown: dict[str, Message] = {}
    for profile in plan.profiles:
        if profile.workload is None:
            continue
        for index in range(min(plan.treatment_count, _TREATMENTS)):
            treatment = plan.treatment(index)
            if not (isinstance(profile.treatments, str) or treatment.id in profile.treatments):
                continue
            for _, workload in CompositeWorkload.of(treatment.resolved, parts).members:
                if (message := workload.unmet(profile)) is not None:
                    shown.setdefault(message.text, message)
    yield from shown.values()


def _lack(profile: Profile) -> Message | None:
    try:
        sampler.check(profile)
        wanted = package(profile)
        if wanted is not None and not wanted.ready and shutil.which("mvn") is None:
            return PACKAGE_NO_MAVEN(package=wanted.label, option=wanted.option)
    except MessageError as error:
        return error.message
    return None


def _to_be_fetched(profile: Profile) -> Message | None:
    wanted = package(profile)
    if wanted is None or wanted.ready:
        return None
    return PACKAGE_WILL_BE_FETCHED(package=wanted.label, directory=packages_directory())


def prepare(
    profiles: Sequence[Profile], note: Callable[[Message], None], report: Callable[[Message], None]
) -> None:
    """Fetch the packages of profilers that are not in the cache; lacks are noted, each once."""
    noted: set[str] = set()
    tried: set[str] = set()
    for profile in profiles:
        try:
            sampler.check(profile)
            wanted = package(profile)
            if wanted is not None and not wanted.ready and wanted.label not in tried:
                tried.add(wanted.label)
                fetch([wanted], report)
        except (ProfilerError, TargetError) as error:
            if error.message.text not in noted:
                noted.add(error.message.text)
                note(NO_PROFILE(error=error.message, remedy=error.message.remedy or as_written("")))
