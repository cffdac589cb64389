"""/v1/gather of a controller: requests passed on to the REST API of a server that gathers."""

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
from fastapi import APIRouter, HTTPException
from pydantic import TypeAdapter

from groupflow.control.api.gather_schemas import ClientChange, ClientView, GatherView

TIMEOUT = 10.0
"""seconds until an answer of the server"""
_Answer = TypeVar("_Answer")
_GATHER, _CLIENT = TypeAdapter(GatherView), TypeAdapter(ClientView)
_CLIENTS = TypeAdapter(list[ClientView])


def gather_proxy_routes(server: str | None) -> APIRouter:
    """The routes; `server`: URL of the server's API; None: the network has no server that gathers."""
    router = APIRouter(tags=["gather"])

    async def ask(
        kind: TypeAdapter[_Answer], method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> _Answer:
        """The server's answer. Raises HTTPException with the status and text of the server's errors."""
        if server is None:
            raise HTTPException(404, "no server that gathers is known; run the controller with --gather URL")
        try:
            async with httpx.AsyncClient(
                base_url=f"{server.rstrip('/')}/v1", timeout=TIMEOUT, trust_env=False
            ) as client:
                response = await client.request(method, f"/gather{path}", json=body)
            answer = response.json()
            if not response.is_error:
                return kind.validate_python(answer)
            problem = str(answer["error"])
        except httpx.HTTPError as error:
            reason = (str(error) or type(error).__name__).lower()
            text = f"no server that gathers at {server} ({reason}); is `groupflow gather serve` running?"
            raise HTTPException(502, text) from None
        except (ValueError, KeyError, TypeError):
            text = f"{server} does not answer as a server that gathers does; mend --gather of the controller"
            raise HTTPException(502, text) from None
        raise HTTPException(response.status_code, problem)

    @router.get("/gather")
    async def show() -> GatherView:
        return await ask(_GATHER, "GET", "")

    @router.get("/gather/clients")
    async def list_clients() -> list[ClientView]:
        return await ask(_CLIENTS, "GET", "/clients")

    @router.get("/gather/clients/{name}")
    async def show_client(name: str) -> ClientView:
        return await ask(_CLIENT, "GET", f"/clients/{quote(name, safe='')}")

    @router.patch("/gather/clients/{name}")
    async def change_client(name: str, change: ClientChange) -> ClientView:
        """Changes target, minimum or priority of a client, from the next round on."""
        body = change.model_dump(exclude_unset=True)
        return await ask(_CLIENT, "PATCH", f"/clients/{quote(name, safe='')}", body)

    return router
