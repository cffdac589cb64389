"""Tokens and the roles that they admit to."""

import pytest

from groupflow.control.sessions.admission import TokenRole, admits, new_salt, new_secret, token
from groupflow.control.sessions.model import Role, SessionRecord

SECRET = "ab" * 32


def record(session: int = 7, salt: str = "00") -> SessionRecord:
    return SessionRecord(id=session, salt=salt, created=0)


def test_a_token_is_hmac_sha256() -> None:
    # printf groupflow:7:00:join | openssl dgst -sha256 -mac HMAC -macopt hexkey:abab... (32 times ab)
    expected = "7aa7051f5f210db5713868955aeb1c6b283a6c647b3dbfbc3eccf73d9c5e7946"
    assert token(SECRET, record(), "join") == expected


@pytest.mark.parametrize(
    ("kind", "role", "admitted"),
    [
        ("join", "sender", True),
        ("join", "receiver", True),
        ("sender", "sender", True),
        ("sender", "receiver", False),
        ("receiver", "receiver", True),
        ("receiver", "sender", False),
    ],
)
def test_roles(kind: TokenRole, role: Role, admitted: bool) -> None:
    assert admits(SECRET, record(), role, token(SECRET, record(), kind)) is admitted
    assert admits(SECRET, record(), role, f" {token(SECRET, record(), kind).upper()}\n") is admitted


@pytest.mark.parametrize("presented", ["", "00", "z" * 64, "\u00fc" * 10, "0" * 64])
def test_anything_else_is_refused(presented: str) -> None:
    assert not admits(SECRET, record(), "receiver", presented)


def test_tokens_differ_by_session_salt_and_secret() -> None:
    tokens = {
        token(SECRET, record(), "join"),
        token(SECRET, record(8), "join"),
        token(SECRET, record(salt="01"), "join"),
        token("cd" * 32, record(), "join"),
    }
    assert len(tokens) == 4
    assert new_secret() != new_secret() and new_salt() != new_salt()
