"""Files in a directory: a plan to start with."""

from __future__ import annotations

from loadcell.drafting.document import Section
from loadcell.drafting.draft import Draft, Origin, Source
from loadcell.drafting.plan import load, plan
from loadcell.model.message import MessageCode

DIRECTORY_START_TITLE = MessageCode("draft-directory.title", "info")
DIRECTORY_START_PLACE = MessageCode("draft-directory.place", "info")
DIRECTORY_START_MIX = MessageCode("draft-directory.mix", "info")


def _draft(origin: Origin) -> Draft:
    origin.without_more_words()
    target = Section()
    target.put("directory", Section(data="."), DIRECTORY_START_PLACE())
    files = Section(count=1000, directories=10, sizes="16KiB")
    files.put("mix", Section(read=60, write=20, create=5, delete=5, rename=5, list=5), DIRECTORY_START_MIX())
    files.put("fsync", True)
    return Draft(plan(DIRECTORY_START_TITLE(), target, Section(files=files), load({}), levels=(1, 2, 4, 8)))


DRAFT = Source(_draft, ("directory",))
