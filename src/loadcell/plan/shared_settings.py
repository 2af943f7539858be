"""Checks of settings of a target against options of the workload: equality, or a lower limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from loadcell.model.message import MessageCode
from loadcell.plan.parts import Misfit, Options, SharedSetting
from loadcell.plan.units import Size

SHARED_SETTING = MessageCode(
    "plan.shared-setting", expected=str, option=str, setting=str, value=str, workload=str
)
SHARED_SETTING_DEFAULT = MessageCode(
    "plan.shared-setting.default", expected=str, option=str, setting=str, value=str, workload=str
)
SETTING_TOO_SMALL = MessageCode(
    "plan.setting-too-small", expected=str, least=str, option=str, setting=str, value=str, workload=str
)
SETTING_TOO_SMALL_DEFAULT = MessageCode(
    "plan.setting-too-small.default",
    expected=str,
    least=str,
    option=str,
    setting=str,
    value=str,
    workload=str,
)


def unequal(
    target: str, settings: Iterable[SharedSetting], workload: str, options: Options
) -> Iterator[Misfit]:
    """Settings of the target that do not fit the options of the workload, by path."""
    for shared in settings:
        option = getattr(options, shared.option)
        setting = f"target.{target}.{shared.path}"
        text = option.text if isinstance(option, Size) else str(option)
        common = {
            "setting": setting, "value": shared.value, "workload": workload, "option": shared.option,
            "expected": text,
        }  # fmt: skip
        if shared.relation == "at-least":
            if not _is_at_least(shared.value, option):
                code = SETTING_TOO_SMALL_DEFAULT if shared.is_default else SETTING_TOO_SMALL
                yield Misfit(setting, code(**common, least=str(int(option))))
        elif shared.value != text:
            code = SHARED_SETTING_DEFAULT if shared.is_default else SHARED_SETTING
            yield Misfit(setting, code(**common))


def _is_at_least(value: str, least: int) -> bool:
    return value.isdecimal() and int(value) >= least
