"""The sections of a report, one module each: `section(context) -> Section | None`.

Their order is `build`'s.
"""
