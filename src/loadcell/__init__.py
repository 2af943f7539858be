"""loadcell: controlled performance experiments, and what their numbers mean."""

from typing import TYPE_CHECKING

from loadcell import lazy

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        """Read the version of the installed package, which engine/Cargo.toml has, when it is needed."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import version  # noqa: PLC0415

        return version("loadcell")


lazy.install()
