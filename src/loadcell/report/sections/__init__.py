"""The sections of a report, one module each: `section(scene) -> Section | None`. Their order is `build`'s."""
