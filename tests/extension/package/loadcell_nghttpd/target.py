"""The target `nghttpd`: started on a free port of 127.0.0.1, without TLS, serving one file."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from signal import SIGKILL, SIGTERM

from pydantic import Field

from loadcell.linux.process import SupervisedProcess
from loadcell.linux.topology import topology
from loadcell.model.capability import HTTP
from loadcell.model.message import NO_OUTPUT
from loadcell.plan.model import Load
from loadcell.plan.parts import Advice, Misfit, Options
from loadcell.systems.base import (
    DataSet,
    DataSpec,
    Loader,
    Role,
    ServerEndpoint,
    Target,
    TargetContext,
    TargetError,
    TargetFacts,
)
from loadcell.systems.http.service import Address, TlsOptions
from loadcell.systems.server import start_process
from loadcell.systems.shared.account import environment
from loadcell.systems.shared.sockets import free_port
from loadcell_nghttpd.messages import ENDED, MISSING, MORE_THREADS, NO_DATA, NOT_READY

PROGRAM = "nghttpd"
START_LIMIT_S = 10.0
ALIVE_LIMIT_S = 3.0
POLL_S = 0.02
#: The file that is served as /index.html.
BODY = "hello\n"


class NghttpdOptions(Options):
    """Settings of the target `nghttpd`."""

    threads: int = Field(default=1, ge=1, le=256, description="Worker threads of nghttpd (`--workers`).")


class Nghttpd(Target[NghttpdOptions]):
    """nghttpd of this machine, started by loadcell."""

    name = "nghttpd"
    summary = "nghttpd, the HTTP/2 server of nghttp2"
    Options = NghttpdOptions
    offers = frozenset({HTTP})

    def __init__(self, options: NghttpdOptions, context: TargetContext) -> None:
        super().__init__(options, context)
        self._port = 0
        self._process = SupervisedProcess(PROGRAM, context.log, environment())

    @classmethod
    def misfits(cls, options: NghttpdOptions) -> Iterator[Misfit]:
        if shutil.which(PROGRAM) is None:
            yield Misfit("target.nghttpd", MISSING())

    @classmethod
    def advice(cls, options: NghttpdOptions, load: Load) -> list[Advice]:
        cpus = len(topology().usable)
        if options.threads <= cpus:
            return []
        return [Advice("target.nghttpd.threads", MORE_THREADS(threads=options.threads, cpus=cpus))]

    def up(self) -> None:
        if self._process.running:
            return
        program = shutil.which(PROGRAM)
        if program is None:
            raise TargetError(MISSING())
        root = self.context.work / PROGRAM
        root.mkdir(exist_ok=True)
        (root / "index.html").write_text(BODY)
        self._port = free_port()
        arguments = [
            "--no-tls",
            "--address=127.0.0.1",
            f"--workers={self.options.threads}",
            f"--htdocs={root}",
        ]
        start_process(self._process, [program, *arguments, str(self._port)])
        self._await()

    def _await(self) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            try:
                self._address.knock(ALIVE_LIMIT_S)
                return
            except TargetError as error:
                if not self._process.running:
                    output = self._process.last_output()
                    raise TargetError(ENDED(output=output[-1] if output else NO_OUTPUT)) from error
                if time.monotonic() > deadline:
                    self.down()
                    raise TargetError(NOT_READY(limit_s=START_LIMIT_S, why=error.message)) from error
            time.sleep(POLL_S)

    @property
    def _address(self) -> Address:
        return Address("127.0.0.1", self._port, tls=False)

    def prepare(self, spec: DataSpec, load: Loader, *, will_change: bool) -> DataSet:
        raise TargetError(NO_DATA(), during="prepare")

    def endpoint(self) -> ServerEndpoint:
        return self._address.endpoint(TlsOptions())

    def describe(self) -> TargetFacts:
        return TargetFacts(server="local", product=PROGRAM, settings={"threads": self.options.threads})

    def roles(self) -> tuple[Role, ...]:
        return () if self._process.pid is None else (Role("server", (self._process.pid,)),)

    def alive(self) -> bool:
        return self._process.running and self._address.answers(ALIVE_LIMIT_S)

    def counters(self) -> dict[str, int]:
        return {}

    def down(self) -> None:
        self._process.stop(((SIGTERM, 5.0, "orderly"), (SIGKILL, 5.0, "kill")))

    def destroy(self) -> None:
        self.down()
