"""Passwords of a PostgreSQL as it stores them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable


def scram_verifier(password: str, salt: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """The stored form of a password, so that the password itself is in no statement (RFC 5802, RFC 7677)."""
    rounds, random = 4096, salt(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), random, rounds)
    client = hmac.digest(salted, b"Client Key", "sha256")
    server = hmac.digest(salted, b"Server Key", "sha256")
    words = [base64.b64encode(part).decode() for part in (random, hashlib.sha256(client).digest(), server)]
    return f"SCRAM-SHA-256${rounds}:{words[0]}${words[1]}:{words[2]}"
