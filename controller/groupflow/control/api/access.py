"""Access of agents' processes to the REST API: by their token, or else from this machine only."""

import hmac
from collections.abc import Awaitable, Callable
from ipaddress import ip_address

from fastapi import Header, HTTPException, Request

from groupflow.endpoint.controller_link import TOKEN_VARIABLE


def agents_only(token: str | None) -> Callable[..., Awaitable[None]]:
    """A dependency that lets in agents; `token`: theirs, if they must show one."""

    async def check(request: Request, authorization: str = Header("")) -> None:
        is_local = request.client is not None and ip_address(request.client.host).is_loopback
        if token is None and not is_local:
            problem = "a process on another machine needs a token; run the controller with --agent-token"
            raise HTTPException(403, problem)
        if token is not None and not hmac.compare_digest(authorization.encode(), f"Bearer {token}".encode()):
            raise HTTPException(403, f"the token of agents does not match; set {TOKEN_VARIABLE}")

    return check
