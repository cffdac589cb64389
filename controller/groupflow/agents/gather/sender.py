"""The async Python API of a client: one stream to a server that gathers."""

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from groupflow.agents.arguments import ArgumentError, checked
from groupflow.agents.gather.options import GatherSendOptions
from groupflow.agents.stream import AgentStream, OnEvent


class GatherSender(AgentStream):
    """A stream, from `async with` to its end: the block ends when the server has delivered all of it.

        async with groupflow.GatherSender("10.0.0.1:26490", "cam1", token, tls_pin=pin) as stream:
            await stream.write_file("video.mp4")

    Connections that die and a restart of the server cost nothing but time.
    """

    begins_with = "started"
    argument_names = MappingProxyType({"to": "server"})

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
        congestion: str | None = None,
        retry: int | str | None = None,
        on_event: OnEvent | None = None,
        launcher: Sequence[str] = (),
    ) -> None:
        """Nothing happens before `async with`.

        `server`: IP:PORT. `name`, `token`: this client's, as in the server's list. The server is identified
        by `tls_pin`, the fingerprint that it prints at its start (SHA-256, hexadecimal), or by `tls_ca`, a
        PEM file of the authority that signed its certificate, and `tls_name` (default: its address);
        `plain=True` goes without encryption. `congestion`: the kernel's, of all connections. `retry`: seconds
        to look for a lost server. `on_event` is called with every event. Raises ArgumentError.
        """
        if [tls_pin is not None, tls_ca is not None, plain].count(True) != 1:
            raise ArgumentError("no way to check the server: pass one of tls_pin, tls_ca and plain=True")
        options = checked(
            GatherSendOptions, self.argument_names, to=server, name=name, token=token,
            congestion=congestion, retry=retry,
            tls_pin=tls_pin, tls_ca=tls_ca and Path(tls_ca), tls_name=tls_name,
        )  # fmt: skip
        super().__init__(options, "sender", launcher=launcher, on_event=on_event)

    write, write_file = AgentStream.send, AgentStream.send_file
