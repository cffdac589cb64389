"""A split agent's control socket that obeys and records requests, in place of `gfagent split`."""

import asyncio
import json
from pathlib import Path
from typing import Any


class FakeAgent:
    """Outlives its clients, as an agent does. `stop` ends the process, and all it held is gone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sessions: dict[int, dict[str, Any]] = {}
        self.requests: list[str] = []
        """operations, with their session"""
        self.refuse: dict[int, str] = {}
        """reasons of refusals, by session"""
        self.streams: dict[int, list[dict[str, Any]]] = {}
        """statistics of streams, by session"""
        self.silent = False
        """whether it answers nothing"""
        self._server: asyncio.Server | None = None
        self._clients: list[asyncio.StreamWriter] = []
        self._watching: list[asyncio.StreamWriter] = []

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, self.path)

    async def stop(self) -> None:
        self.sessions.clear()
        await self.break_off()
        if self._server is not None:
            self._server.close()
            self._server = None
        self.path.unlink(missing_ok=True)

    async def break_off(self) -> None:
        """Ends every client's connection; the agent goes on."""
        for writer in self._clients:
            writer.close()
        self._clients.clear()
        self._watching.clear()

    def tell(self, event: str, session: int, **fields: object) -> None:
        """Sends an event to the clients that watch."""
        line = json.dumps({"event": event, "session": session, **fields}).encode() + b"\n"
        for writer in self._watching:
            writer.write(line)

    def say(self, line: bytes) -> None:
        """Sends any text to every client."""
        for writer in self._clients:
            writer.write(line)

    @property
    def watched(self) -> bool:
        return bool(self._watching)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients.append(writer)
        while line := await reader.readline():
            if self.silent:
                continue
            request = json.loads(line)
            answer = {"id": request["id"], **self._carry_out(request, writer)}
            writer.write(json.dumps(answer).encode() + b"\n")

    def _carry_out(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> dict[str, Any]:
        session = request.get("session")
        match request["op"]:
            case "watch":
                self._watching.append(writer)
                return {"ok": True}
            case "list":
                return {"ok": True, "sessions": list(self.sessions.values())}
            case "stats":
                sessions = [
                    {"id": number, "streams": [], "closed": self.streams.get(number, [])}
                    for number in self.sessions
                ]
                return {"ok": True, "sessions": sessions, "streams": 0, "cache_used": 5, "cache_limit": 9}
            case "set_session":
                assert isinstance(session, dict)
                self.requests.append(f"set {session['id']}")
                if session["id"] in self.refuse:
                    return {"ok": False, "error": {"code": "x", "text": self.refuse[session["id"]]}}
                self.sessions[session["id"]] = session
                return {"ok": True, "streams": 0}
            case "remove_session":
                assert isinstance(session, int)
                self.requests.append(f"remove {session}")
                self.sessions.pop(session, None)
                return {"ok": True, "streams": 0}
            case other:
                raise AssertionError(other)
