"""Secrets are recognised alike wherever loadcell looks for them: files, labels, plans, names of fields."""

from __future__ import annotations

import time

import pytest

from loadcell.plan.secret_files import may_hold_secret
from loadcell.plan.secret_patterns import (
    REDACTED,
    has_secret_word,
    is_secret_field,
    is_secret_name,
    spans,
    without_secrets,
)
from secret_cases import NAMES, OTHER_NAMES, WITH_SECRET, WITHOUT_SECRET


@pytest.mark.parametrize(("text", "secret"), WITH_SECRET)
def test_a_secret_is_recognised_whole(text: str, secret: str) -> None:
    written = without_secrets(f"before\n{text}\nafter")
    assert secret not in written
    assert REDACTED in written
    assert written.startswith("before\n")
    assert written.endswith("\nafter")
    assert without_secrets(written) == written
    assert may_hold_secret(f"before\r\n{text}\r\nafter".encode())


@pytest.mark.parametrize("text", WITHOUT_SECRET)
def test_ordinary_texts_stay(text: str) -> None:
    assert without_secrets(f"before\n{text}\nafter") == f"before\n{text}\nafter"
    assert not may_hold_secret(f"before\n{text}\nafter".encode())


@pytest.mark.parametrize("name", NAMES)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)
    assert is_secret_field(name)


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_other_names(name: str) -> None:
    assert not is_secret_name(name)


def test_a_label_is_called_as_secrets_are_by_any_word() -> None:
    assert has_secret_word("api key of staging")
    assert not has_secret_word("tokenizer")


@pytest.mark.parametrize(
    "text",
    [
        "password=",
        "token ",
        "://a:",
        "authorization: ",
        "eyJ",
        "-----BEGIN PRIVATE KEY",
        '"password":"',
        "key",
    ],
)
def test_the_search_takes_time_in_proportion_to_the_text(text: str) -> None:
    began = time.process_time()
    spans(text * (300_000 // len(text)))
    assert time.process_time() - began < 5, "0.02 to 0.5 s; quadratic searches take minutes"
