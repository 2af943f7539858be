"""The environment of child processes that need no secret: what programs and libraries ask for, nothing else.

The variables of a process may hold passwords that a plan refers to, and /proc shows them to every process of
the same user.
"""

from __future__ import annotations

import os

_NAMES = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "VIRTUAL_ENV",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "DEBUGINFOD_URLS", "LLVM_PROFILE_FILE",
})  # fmt: skip
_BEGINNINGS = ("LC_", "PYTHON", "JAVA_HOME", "JAVA_OPTS", "RUST_BACKTRACE", "COVERAGE_")


def plain() -> dict[str, str]:
    """Variables of this process that a child without a need for secrets gets."""
    return {
        name: value for name, value in os.environ.items() if name in _NAMES or name.startswith(_BEGINNINGS)
    }
