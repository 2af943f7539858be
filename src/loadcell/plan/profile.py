"""Profiling options of a plan: `profile: cpu`, or `profile: {cpu: {...}}` with options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode
from loadcell.plan.nodes import Keys, Scalar, plain
from loadcell.plan.parts import Options
from loadcell.plan.problems import INVALID, Problem, listed, nearest, shown
from loadcell.plan.resolve import read_model

ALLOWED_PROFILE = MessageCode("allowed.profile", example=str)
UNKNOWN_TREATMENT = MessageCode("plan.unknown-treatment", name=str, names=list)

KINDS = ("cpu",)


class CpuProfile(Options, use_attribute_docstrings=True):
    """After the ordinary trials, where the target's processes spend their time on the CPU, as a flame
    graph.
    """

    treatments: Literal["best", "all"] | Annotated[list[str], Field(min_length=1)] = "best"
    """Which treatments get an extra trial: the one with the highest median throughput, every one, or those
    named."""
    frequency: Annotated[int, Field(ge=1, le=9999)] = 99
    """Samples per second of each CPU. 99 keeps out of step with what happens 100 times a
    second."""
    call_graph: Literal["dwarf", "fp"] = "dwarf"
    """The way to find callers: `dwarf` for programs as distributions build them; `fp`, cheaper, for programs
    and libraries built with frame pointers."""

    def document(self) -> JsonObject:
        """As plain JSON: run.json keeps it."""
        return self.model_dump(mode="json")


def read_profile(root: Keys, problems: list[Problem]) -> CpuProfile | None:
    """The plan's profile; None when it has none, or after adding to `problems`."""
    node = root.get("profile")
    if node is None or plain(node) is None:
        return None
    mark = root.mark_of("profile")
    if isinstance(node, Scalar) and node.value in KINDS:
        return CpuProfile()
    if isinstance(node, Keys) and len(node.entries) == 1 and (inner := node.get("cpu")) is not None:
        return read_model(CpuProfile, inner, ("profile", "cpu"), mark, problems)
    names = list(node.entries) if isinstance(node, Keys) else [node.text] if isinstance(node, Scalar) else []
    near = next(filter(None, (nearest(name, KINDS) for name in names)), None)
    message = INVALID(
        value=shown(plain(node)), allowed=ALLOWED_PROFILE(example="{cpu: {treatments: best, frequency: 99}}")
    )
    problems.append(Problem(node.mark, "profile", message, near))
    return None


def strangers(profile: CpuProfile | None, root: Keys, names: Sequence[str]) -> list[Problem]:
    """The treatments that a profile names and the plan has not."""
    if profile is None or isinstance(profile.treatments, str):
        return []
    return [
        Problem(
            root.mark_of("profile"),
            "profile.cpu.treatments",
            UNKNOWN_TREATMENT(name=shown(name), names=listed(names)),
            nearest(name, names),
        )
        for name in profile.treatments
        if name not in names
    ]
