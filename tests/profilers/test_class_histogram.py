"""Objects by class before and after a load."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from jvms import running
from loadcell.model.profile_record import ClassCount
from loadcell.plan.profile import JvmClassesProfile
from loadcell.profilers.class_histogram import ClassHistogramSampler, counts, grown, readable
from loadcell.profilers.perf import ProfilerError
from loadcell.store.write import RunWriter
from nobody import nobody
from profilers.jvm_programs import BUSY

OUTPUT = """ num     #instances         #bytes  class name (module)
-------------------------------------------------------
   1:          8054        8347536  [B (java.base@17.0.15)
   2:          1429         176128  java.lang.Class (java.base@17.0.15)
   3:             3             72  Service$Kept
Total          9486        8523736
"""


@pytest.mark.parametrize(
    ("name", "shown"),
    [("[B", "byte[]"), ("[[J", "long[][]"), ("[Ljava.lang.String;", "java.lang.String[]"), ("B", "B")],
)
def test_arrays_are_named_as_in_sources(name: str, shown: str) -> None:
    assert readable(name) == shown


def test_counts_are_read_with_and_without_modules() -> None:
    assert counts(OUTPUT) == {
        "byte[]": ClassCount(8054, 8347536),
        "java.lang.Class": ClassCount(1429, 176128),
        "Service$Kept": ClassCount(3, 72),
    }
    assert counts(OUTPUT * 2)["Service$Kept"] == ClassCount(6, 144), "two JVMs"
    assert counts("Unknown diagnostic command") == {}


def test_growth_is_in_order_of_bytes_and_counts_new_classes() -> None:
    before = {"a": ClassCount(1, 100), "b": ClassCount(5, 50), "gone": ClassCount(9, 900)}
    after = {"a": ClassCount(2, 200), "b": ClassCount(5, 50), "new": ClassCount(7, 700)}
    record = grown(before, after)
    assert [(growth.name, growth.instances, growth.bytes) for growth in record.classes] == [
        ("new", 7, 700),
        ("a", 1, 100),
    ]
    assert (record.grown, record.before, record.after) == (2, ClassCount(15, 1050), ClassCount(14, 950))


def sampled(pid: int, folder: Path) -> tuple[ClassHistogramSampler, RunWriter]:
    return ClassHistogramSampler(JvmClassesProfile(), folder), RunWriter(folder / "run")


def test_objects_that_a_program_keeps_are_counted(tmp_path: Path) -> None:
    sampler, writer = sampled(0, tmp_path)
    record = writer.trial("profile-it")
    with running("-Xmx64m", source=BUSY) as process:
        try:
            sampler.attach([process.pid])
            time.sleep(0.5)
            sampler.end()
            profile = sampler.collect(record, "it", print)
            files = {name: (record.path / f"classes-{name}.txt").read_text() for name in ("before", "after")}
        finally:
            record.abandon()
            writer.close()
    assert profile.classes is not None
    growth = next(item for item in profile.classes.classes if item.name == "Busy$Kept")
    assert growth.instances >= 10
    assert growth.bytes == 16 * growth.instances or growth.bytes == 24 * growth.instances
    assert counts(files["after"])["Busy$Kept"] == growth.after
    assert counts(files["before"]).get("Busy$Kept", ClassCount(0, 0)) == growth.before


def test_a_jvm_that_takes_no_commands_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    refusal = pytest.raises(ProfilerError, match="did not count its objects: it runs with")
    with running("-XX:+DisableAttachMechanism", source=BUSY) as process, refusal as caught:
        ClassHistogramSampler(JvmClassesProfile(), tmp_path).attach([process.pid])
    assert "without -XX:+DisableAttachMechanism" in caught.value.advice


def test_a_jvm_of_another_user_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root has processes of two users")
    refusal = pytest.raises(ProfilerError, match=r"the JVM \d+ belongs to another user")
    with running(source=BUSY) as process, nobody(), refusal as caught:
        ClassHistogramSampler(JvmClassesProfile(), tmp_path).attach([process.pid])
    assert "as root or as the user of the JVM" in caught.value.advice


def test_a_target_without_a_jvm_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ProfilerError, match="no JVM on this machine") as caught:
        ClassHistogramSampler(JvmClassesProfile(), tmp_path).attach([os.getpid()])
    assert "`off-cpu`" in caught.value.advice
