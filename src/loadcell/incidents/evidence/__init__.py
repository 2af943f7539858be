"""Evidence that incidents are recognised from, whatever its source: logs, samples of a run, a live host.

Each type is a frozen dataclass in the module of its topic; `base` has what they have in common.
"""
