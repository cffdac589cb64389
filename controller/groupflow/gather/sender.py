"""The async Python API of a client: one stream to a server that gathers."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from groupflow.client.agent_process import AgentProcess
from groupflow.client.errors import ClientError
from groupflow.client.events import Event
from groupflow.gather.options import SendOptions

_CHUNK = 1 << 18


class Sender:
    """A stream, from `async with` to its end: the block ends when the server has all of it where it goes.

    Connections that die and a server that is started again cost nothing but time.
    """

    def __init__(
        self,
        server: str,
        name: str,
        token: str,
        *,
        tls_pin: str | None = None,
        tls_ca: Path | None = None,
        tls_name: str | None = None,
        plain: bool = False,
        fec: str | None = None,
        congestion: str | None = None,
        retry: int | None = None,
        on_event: Callable[[Event], None] | None = None,
        launcher: Sequence[str] = (),
    ) -> None:
        """Nothing happens before `async with`.

        `server`: IP:PORT. `name`, `token`: of this client, as the server's list has them. The server is known
        by `tls_pin`, the fingerprint that it tells when it starts (SHA-256, hexadecimal), or by `tls_ca`, a
        PEM file of who vouches for it, and `tls_name` (default: its address); `plain=True` goes without
        encryption. `fec`: erasure coding over the connections, like "4+2". `congestion`: the kernel's, of all
        connections. `retry`: seconds to find a server that is gone. `on_event`: is told everything. Raises
        ClientError.
        """
        if [tls_pin is not None, tls_ca is not None, plain].count(True) != 1:
            raise ClientError("how is the server known? pass one of tls_pin, tls_ca and plain=True")
        options = SendOptions(
            to=server,
            name=name,
            token=token,
            fec=fec,
            congestion=congestion,
            retry=retry,
            tls_pin=tls_pin,
            tls_ca=tls_ca,
            tls_name=tls_name,
        )
        self._agent = AgentProcess(options, launcher=launcher, on_event=on_event, piped_input=True)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Raises AgentError when the server cannot be reached, refuses, or is another one."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._agent)
            await self._agent.wait_for("started")
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with self._stack:
            if kind is None:
                await self.finish()

    @property
    def progress(self) -> Event | None:
        """The latest progress, at most 0.5 s old: bytes read and acknowledged, round trip and so on."""
        return self._agent.latest.get("progress")

    @property
    def result(self) -> Event | None:
        """The summary, once the stream is delivered."""
        return self._agent.latest.get("complete")

    async def write(self, data: bytes) -> None:
        """Appends to the stream, as fast as the server takes it. Raises AgentError when it is over."""
        try:
            self._agent.data_in.write(data)
            await self._agent.data_in.drain()
        except ConnectionError:
            await self._agent.finish()  # says why it ended
            raise

    async def write_file(self, path: str | Path) -> None:
        """Appends a file to the stream."""
        try:
            file = await asyncio.to_thread(Path(path).open, "rb")
        except OSError as error:
            raise ClientError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
        with file:
            while chunk := await asyncio.to_thread(file.read, _CHUNK):
                await self.write(chunk)

    async def finish(self) -> Event:
        """Ends the stream and waits until all of it is delivered. The summary: `bytes`, `seconds`."""
        self._agent.data_in.close()
        return await self._agent.finish()
