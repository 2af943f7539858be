"""Stands in for a run: brings a server up, says where it is, and waits to be killed.

python runner.py WORK [thread]    with `thread`, the thread that brought the server up ends at once
python runner.py WORK standbys    with a standby
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

from loadcell.systems.base import TargetContext
from loadcell.systems.postgres.options import PostgresOptions
from loadcell.systems.postgres.replication_options import StandbyOptions
from loadcell.systems.postgres.target import Postgres


def main(work: str, how: str = "") -> None:
    context = TargetContext(Path(work), lambda line: None, lambda text: text)
    standbys = StandbyOptions() if how == "standbys" else None
    target = Postgres(PostgresOptions(settings={"fsync": "off"}, standbys=standbys), context)
    if how == "thread":
        thread = threading.Thread(target=target.up)
        thread.start()
        thread.join()
        time.sleep(1)
    else:
        target.up()
    print(json.dumps({"pid": target.processes(), "alive": target.alive()}), flush=True)
    if how == "down":
        target.destroy()
        return
    time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
