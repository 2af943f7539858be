"""Judgement of faults: what a trial's load shows of each, on the timeline of its completions."""
