"""Programs of a managed server that the options of its target name: a package's, or those beside a binary."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from loadcell.systems.server_options import VersionedOptions
from loadcell.systems.shared import packages
from loadcell.systems.shared.packages import Repository


@dataclass(frozen=True, kw_only=True)
class ServerPrograms:
    """Programs of a server: `build` distinguishes those of one series that do not share a data directory,
    `package` is the package that they are from, with its checksum.
    """

    build: str = ""
    package: str | None = None


P = TypeVar("P", bound=ServerPrograms)


def named_programs(
    repository: Repository, options: VersionedOptions, find: Callable[[str, int | str | None], P]
) -> P | None:
    """The programs, which `find` looks for in a directory; None if the options name none.

    Raises TargetError.
    """
    package = repository.package(options)
    if package is not None:
        manifest = packages.contents(package)
        version = options.version if isinstance(package, packages.PackageFile) else None
        programs = find(str(package.directory), version)
        return replace(programs, build=f"-{package.build}", package=packages.origin(manifest))
    if options.binary is not None:
        path = str(packages.installation(options.binary))
        build = hashlib.sha256(path.encode()).hexdigest()[:6]
        return replace(find(path, options.version), build=f"-{build}")
    return None
