"""valgrind: a real program that loses a known number of bytes, and accounts that are not whole."""

from __future__ import annotations

import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest

from loadcell.model.json import document
from loadcell.profilers.launched import valgrind
from loadcell.profilers.launcher import UnreadableError
from loadcell.systems.base import TargetContext, TargetError
from loadcell.systems.command.options import CommandOptions
from loadcell.systems.command.target import Command

#: A server of HTTP. It loses 100 bytes with each request for `/lose`, and a block that points to another with
#: `/pair`.
SERVER = r"""
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static void lose(void) { char *volatile lost = malloc(100); lost[0] = 1; lost = NULL; }
static void pair(void) { void **volatile lost = malloc(32); lost[0] = malloc(48); lost = NULL; }
int main(int count, char **words) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1])),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int server = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(server, (struct sockaddr *)&at, sizeof at) || listen(server, 16)) return 1;
  for (;;) {
    char asked[4096];
    int client = accept(server, NULL, NULL);
    ssize_t length = read(client, asked, sizeof asked - 1);
    asked[length > 0 ? length : 0] = 0;
    if (!strncmp(asked, "GET /lose", 9)) lose();
    if (!strncmp(asked, "GET /pair", 9)) pair();
    const char *answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    if (write(client, answer, strlen(answer)) < 0) return 1;
    close(client);
  }
}
"""
ERROR = """<error><kind>{kind}</kind><xwhat><text>{text}</text>
<leakedbytes>{size}</leakedbytes><leakedblocks>2</leakedblocks></xwhat>
<stack><frame><fn>a&lt;b&gt;</fn></frame><frame><obj>/lib/x.so</obj></frame></stack></error>"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("program")
    (home / "server.c").write_text(SERVER)
    subprocess.run(["cc", "-g", "-O0", "-o", home / "server", home / "server.c"], check=True)
    return home / "server"


def target(program: Path, work: Path, log: list[str]) -> Command:
    options = CommandOptions.model_validate(
        {"command": [str(program), "{port}"], "url": "http://127.0.0.1:{port}", "under": "valgrind"}
    )
    return Command(options, TargetContext(work, log.append, str))


def test_what_a_server_has_lost_is_known_to_the_byte(program: Path, tmp_path: Path) -> None:
    assert shutil.which("valgrind"), "valgrind is needed: apt-get install valgrind"
    server = target(program, tmp_path, [])
    try:
        server.up()
        for path in ("/", "/lose", "/pair", "/lose", "/lose"):
            with urllib.request.urlopen(f"http://127.0.0.1:{server.address.port}{path}") as answer:
                assert answer.read() == b"ok"
        memory = document(server.examine().memory)
        assert not server.alive()
    finally:
        server.down()
        server.destroy()
    assert memory["lost"] == {
        "definite": {"bytes": 3 * 100 + 32, "blocks": 4},
        "indirect": {"bytes": 48, "blocks": 1},
        "possible": {"bytes": 0, "blocks": 0},
        "reachable": {"bytes": 0, "blocks": 0},
    }
    assert (memory["errors"], memory["suppressed"]) == (0, 0)
    assert [(loss["kind"], loss["bytes"]) for loss in memory["records"]] == [
        ("definite", 300), ("indirect", 48), ("definite", 32),
    ]  # fmt: skip
    assert any(function.startswith("lose (server.c:") for function in memory["records"][0]["stack"])


def test_a_missing_valgrind_is_named_with_its_package(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TargetError, match="valgrind is not installed") as caught:
        target(program, tmp_path, []).up()
    assert "apt-get install valgrind" in caught.value.advice


def test_records_are_read_by_kind(tmp_path: Path) -> None:
    account = tmp_path / "account.xml"
    errors = [
        ERROR.format(kind="Leak_DefinitelyLost", text="1,080 (1,032 direct, 48 indirect) bytes", size=1080),
        ERROR.format(kind="Leak_PossiblyLost", text="7 bytes", size=7),
        ERROR.format(kind="Leak_StillReachable", text="9 bytes", size=9),
        "<error><kind>InvalidRead</kind><what>Invalid read of size 4</what><stack/></error>",
    ]
    account.write_text(f"<valgrindoutput>{''.join(errors)}</valgrindoutput>")
    memory = document(valgrind.read(account))
    assert memory["lost"]["definite"] == {"bytes": 1032, "blocks": 2}
    assert memory["lost"]["possible"] == {"bytes": 7, "blocks": 2}
    assert memory["errors"] == 1
    assert memory["records"][0]["stack"] == ["a<b>", "[x.so]"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "left no report"),
        ("", "is incomplete"),
        ("<valgrindoutput><error>", "is incomplete"),
        ('<!DOCTYPE x [<!ENTITY a "aaaa">]><valgrindoutput>&a;</valgrindoutput>', "document type"),
    ],
)
def test_an_account_that_is_not_whole_is_refused(tmp_path: Path, text: str | None, why: str) -> None:
    account = tmp_path / "account.xml"
    if text is not None:
        account.write_text(text)
    with pytest.raises(UnreadableError, match=why):
        valgrind.read(account)
