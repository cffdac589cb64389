"""Tokens: a bearer may join. HMAC-SHA256 with the controller's secret, so that none needs storing."""

import hmac
import secrets
from typing import Literal, TypeAlias

from groupflow.control.sessions.model import Role, SessionRecord

TokenRole: TypeAlias = Literal["join", "sender", "receiver"]
"""A `join` token is good for both roles."""


def new_secret() -> str:
    return secrets.token_hex(32)


def new_salt() -> str:
    return secrets.token_hex(8)


def token(secret: str, session: SessionRecord, role: TokenRole) -> str:
    """The session's token for a role, in hexadecimal."""
    text = f"groupflow:{session.id}:{session.salt}:{role}"
    return hmac.digest(bytes.fromhex(secret), text.encode(), "sha256").hex()


def admits(secret: str, session: SessionRecord, role: Role, presented: str) -> bool:
    """Whether a token lets its bearer join in a role. Takes the same time for any wrong token."""
    candidate = presented.strip().lower().encode()
    kinds: tuple[TokenRole, TokenRole] = ("join", "receiver" if role == "listener" else role)
    good = [hmac.compare_digest(candidate, token(secret, session, kind).encode()) for kind in kinds]
    return any(good)
