"""A machine's page: every part of it in the reader's language, whatever is known of the machine and whatever
is not.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from linux import trees
from loadcell.analysis import host_remarks
from loadcell.linux import inventory, time_limits
from loadcell.model.message import Message
from loadcell.report.host import DESCRIBED, brief, in_words, parts, unavailable
from loadcell.report.render import terminal
from loadcell.report.texts import Texts

EN, ZH = Texts("en"), Texts("zh")
REASONS = (
    time_limits.NO_TABLE(),
    time_limits.ONLY_ROOT(file="/sys/firmware/dmi/tables/DMI"),
    time_limits.NO_MODULE(),
    time_limits.NO_NAMES(),
    time_limits.NO_CPUFREQ(),
    time_limits.NO_TURBO(driver="cppc_cpufreq"),
    time_limits.NO_SPEED(names=["eth0", "eth1"]),
    time_limits.NO_HYPERVISOR(),
    time_limits.NO_FILE(file="/sys/block"),
    time_limits.SLOW(limit="1.5"),
    time_limits.UNREADABLE(error="ValueError: line\n2"),
)


def rows(host: dict[str, Any], texts: Texts) -> dict[str, str]:
    return {name: value for part in parts(host, texts) for name, value in part.rows}


def shown(host: dict[str, Any], texts: Texts) -> str:
    ((_, text),) = unavailable(host, texts)
    return text


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.code)
def test_the_reason_of_a_missing_answer_is_as_recorded_or_in_the_readers_language(reason: Message) -> None:
    codes = {"disks": {"code": reason.code, "args": reason.plain_arguments}}
    host = {"unavailable": {"disks": reason.text}, "unavailable_codes": codes}
    assert shown(host, EN) == reason.text
    assert re.search(r"[\u4e00-\u9fff]", shown(host, ZH))


def test_reasons_of_other_versions_stay_as_they_are_recorded() -> None:
    text = "a reason of another version"
    assert shown({"unavailable": {"disks": text}}, ZH) == text
    codes = {"disks": {"code": "host-reason.of-later", "args": {}}}
    assert shown({"unavailable": {"disks": text}, "unavailable_codes": codes}, ZH) == text


def test_words_of_the_kernel_are_said_in_the_readers() -> None:
    assert in_words("smt", "notsupported", EN) == "none: a core has one thread"
    assert in_words("virtualisation", "unknown hypervisor", ZH) == "未识别的虚拟化平台"
    assert in_words("virtualisation", "kvm", ZH) == "kvm"
    assert all(in_words(key, word, ZH) != word for key, words in DESCRIBED.items() for word in words)


def test_no_part_of_a_large_machine_is_called_as_it_is_recorded(tmp_path: Path) -> None:
    trees.processors(tmp_path, 8, sockets=2, nodes=2, offline="5")
    trees.dmi(tmp_path, (16384, 3200, 2933))
    trees.write(tmp_path, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "2600000")
    trees.write(tmp_path, "proc/self/cgroup", "0::/pod")
    trees.write(tmp_path, "sys/fs/cgroup/pod/cpu.max", "150000 100000")
    trees.write(tmp_path, "sys/block/sda/size", "4096")
    trees.write(tmp_path, "sys/block/sda/queue/write_cache", "write back")
    trees.write(tmp_path, "sys/class/net/eth9/mtu", "1500")
    trees.write(tmp_path, "sys/class/net/eth9/speed", "10000")
    host = inventory.collect(tmp_path)
    for texts in (EN, ZH):
        facts = rows(host, texts)
        lines = {f"{name} {value}" for name, value in facts.items() if "." not in name}  # not sysctls
        assert not [
            line
            for line in lines
            if re.search(r"\b[a-z]+_[a-z_]+\b", re.sub(r"virtio_net|/sys/\S+", "", line))
        ]
    facts = rows(host, ZH)
    assert facts["最高频率"] == "2,600 MHz"
    assert "速率 10,000 Mbit/s" in facts["eth9"]
    assert facts["节点 0"].startswith("处理器 0")
    assert facts["已关闭的处理器"] == "5"
    assert facts["cgroup 限制"] == "处理器 1.5"


def test_file_systems_without_names_or_answers_are_said_to_be_so() -> None:
    mount = {"mount": "/data", "source": "/dev/sda1", "type": "xfs", "options": "rw"}
    size = {"size_bytes": 4 * 2**30, "free_bytes": 2**30}
    assert rows({"filesystems": [{**mount, **size}]}, EN) == {
        "/data": "xfs on /dev/sda1, 1 GiB of 4 GiB free, options rw"
    }
    assert rows({"filesystems": [{**mount, "answers": False}]}, EN)["/data"].endswith(
        ", no response, options rw"
    )
    assert rows({"filesystems": [mount]}, EN)["/data"].endswith(
        ", not queried, since others did not respond, options rw"
    )
    shared = inventory.nameless({"filesystems": [{**mount, **size}]})
    assert rows(shared, EN) == {"A file system": "xfs, 1 GiB of 4 GiB free, options rw"}


def test_weaknesses_of_the_processor_are_no_kernel_settings() -> None:
    host = {"settings": {"vm.swappiness": "60"}, "mitigations": {"spectre_v2": "Mitigation: Retpolines"}}
    facts = {part.title: dict(part.rows) for part in parts(host, EN)}
    assert facts == {
        "Kernel and limits": {"vm.swappiness": "60"},
        "Vulnerabilities of the processor and their mitigations": {"spectre_v2": "Mitigation: Retpolines"},
    }


def test_findings_are_wrapped_between_chinese_characters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    host = {"mitigations": {"spectre_v1": "Mitigation: a", "spectre_v2": "Mitigation: b"}}
    terminal.render(brief(host, host_remarks.findings(host), "zh"))
    lines = capsys.readouterr().out.splitlines()
    (first,) = [line for line in lines if line.startswith("· 内核启用了针对处理器")]
    assert cell_len(first) > 70
