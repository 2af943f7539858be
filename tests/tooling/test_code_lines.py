"""Code lines as `scripts/code-lines` counts them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from scripts_of_make import load_script


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("code-lines")


PYTHON = '''"""A module.

More of its docstring.
"""

import os  # 1

# a comment


def function(value):  # 2
    """Docstring."""
    text = """two
lines, and a third after a blank

one"""
    return (  # 6
        os.fspath(value)
        + text
    )


class Record:
    field: int  # 11
    """Docstring of a field."""
'''

KINDS = '''"""A module."""

from typing import TYPE_CHECKING  # import

if TYPE_CHECKING:  # import
    from pathlib import Path  # import

EMPTY = MessageCode(  # message
    "file.empty", path=str  # message
)  # message
Name = Literal["a", "b"]  # type
LIMIT = 3  # constant


@dataclass  # type
class Record:  # type
    """Docstring."""

    field: int  # type
    summary = "text"  # constant

    @property  # decorator
    def value(  # signature
        self,  # further
    ) -> int:  # further
        """Docstring."""
        if self.field:  # statement
            total = (  # statement
                self.field  # continued
            )  # continued
        else:  # statement
            total = 1  # statement
        try:  # statement
            from os import sep  # import
        except OSError:  # statement
            pass  # statement
        match total:  # statement
            case 1:  # statement
                return 1  # statement
        return total  # statement
'''

RUST = r"""//! A module.
use std::fmt; // 1

/* a comment /* nested */
   let not_code = 1; */
#[derive(Debug)] // 2
struct Reader<'a> { // 3
    text: &'a str, // 4
} // 5

fn quote() -> char { // 6
    let url = "http://no.comment"; // 7
    let raw = r#"a "quoted" // text
    /* of two lines"#; // 9
    '"' // 10
} // 11

#[cfg(test)]
mod other_tests;

#[cfg(test)]
mod tests {
    #[test]
    fn braces() { assert_eq!("}", "\x7d"); }
}
"""


def test_python_without_blanks_comments_and_docstrings(script: ModuleType) -> None:
    assert script.python_code_lines(PYTHON) == 11


def test_every_line_of_python_has_one_kind(script: ModuleType) -> None:
    counts = script.python_kinds(KINDS)
    marks = {
        script.IMPORT: "import", script.MESSAGE: "message", script.TYPE: "type", script.CONSTANT: "constant",
        script.DECORATOR: "decorator", script.SIGNATURE: "signature", script.SIGNATURE_CONTINUED: "further",
        script.STATEMENT: "statement", script.STATEMENT_CONTINUED: "continued",
    }  # fmt: skip
    assert counts == {kind: KINDS.count(f"# {mark}\n") for kind, mark in marks.items()}
    assert counts.total() == script.python_code_lines(KINDS)


def test_rust_without_blanks_comments_and_test_modules(script: ModuleType) -> None:
    assert script.rust_code_lines(RUST) == 11


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("engine/src/load/tests/open.rs", True),
        ("engine/src/sql/session_tests.rs", True),
        ("engine/src/sql/mod.rs", False),
    ],
)
def test_files_of_tests_are_left_out(script: ModuleType, path: str, is_test: bool) -> None:
    assert script.is_rust_test(Path(path)) is is_test
