"""The search: which level to measure next, and what was found.

Pure: finished trials in, a probe or an answer out.

`decide` is the whole of it. It keeps nothing: what it asks for follows from the question and from the trials
seen so far alone, so that a killed run resumes where it stopped, and an old run can be read again.
"""

from __future__ import annotations

from loadcell.design.search.decide import answer, decide, standing
from loadcell.design.search.model import Answer, Probe, Question, Seen, Standing

__all__ = ["Answer", "Probe", "Question", "Seen", "Standing", "answer", "decide", "standing"]
