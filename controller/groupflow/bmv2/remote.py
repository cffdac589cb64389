"""The switch of `gfswitch-cli`: its P4Runtime server, for a client with a role of its own, and its control
socket.

A role without a configuration may write everything, and takes no role from a controller.
"""

import asyncio
import re
import secrets
import socket
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from finsy import GRPCStatusCode, P4ClientError
from finsy.p4client import P4Client
from finsy.proto import U128, p4i, p4r

from groupflow.bmv2.p4info import derived
from groupflow.errors import Error, UnavailableError, reason
from groupflow.p4rt.connection import HANDSHAKE_SECONDS, ControlError, ask, describe

INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
Kind: TypeAlias = p4r.Update.Type.ValueType

_SECONDS = 5.0
_PLACE = re.compile(rb"device_id=(\d+) grpc=(\S+) control=([^\x00]+?)(?: program=([^\x00]+))?\x08")
"""the end of the text with which gfswitch refuses Thrift; the field after it begins with its type, 8"""
_Named = TypeVar(
    "_Named", p4i.Table, p4i.Action, p4i.ActionProfile, p4i.Register, p4i.Counter | p4i.DirectCounter,
    p4i.Meter | p4i.DirectMeter,
)  # fmt: skip


class RefusedError(Error):
    """A command that cannot be carried out, in one line; `code` is the switch's, if it refused."""

    def __init__(self, message: str, code: GRPCStatusCode = GRPCStatusCode.UNKNOWN) -> None:
        super().__init__(message)
        self.code = code


class LostError(UnavailableError):
    """The switch ended, or took the connection's role: no later command can be carried out. One line."""


class Place(NamedTuple):
    """The addresses of a switch, and its program."""

    device_id: int
    grpc: str
    control: Path | None
    program: Path | None
    """p4c's JSON, in case that the switch has no P4Info"""


def find(host: str, port: int) -> Place:
    """The switch that refuses Thrift at this address. Raises RefusedError."""
    name = b"gfswitch-cli"
    try:
        with socket.create_connection((host, port), timeout=_SECONDS) as connection:
            connection.sendall(struct.pack(f">II{len(name)}sIB", 0x80010001, len(name), name, 1, 0))
            answer = connection.recv(4096)
    except (OSError, UnicodeError) as error:
        text = reason(error) if isinstance(error, OSError) else "it is no name of a host"
        cure = f"start gfswitch with --thrift-port {port}, or name its P4Runtime with --grpc"
        raise RefusedError(f"no switch at {host}:{port}: {text}; {cure}") from None
    found = _PLACE.search(answer)
    if not found:
        raise RefusedError(f"no gfswitch at {host}:{port}: what answers there is another program")
    device_id, grpc, control, program = (part.decode() for part in found.groups(b""))
    if grpc == "none":
        raise RefusedError(f"the switch at {host}:{port} runs without P4Runtime")
    grpc = re.sub(r"^(0\.0\.0\.0|\[::\])", host, grpc)
    control = None if control == "none" else Path(control)
    return Place(int(device_id), grpc, control, Path(program) if program else None)


class Remote:
    """A connection to one switch, and its program's P4Info."""

    def __init__(self, place: Place) -> None:
        """Raises RefusedError."""
        self._place = place
        self._role = f"gfswitch-cli-{secrets.token_hex(8)}"
        self._loop = asyncio.Runner()
        self._client = P4Client(place.grpc, wait_for_ready=False)
        try:
            self.p4info = self._loop.run(self._open())
            if not self.p4info.ByteSize():
                self.p4info = self._install()
        except RefusedError:
            self.close()
            raise
        except (P4ClientError, TimeoutError) as error:
            self.close()
            text = describe(error) if isinstance(error, P4ClientError) else "no answer"
            raise RefusedError(f"P4Runtime at {place.grpc}: {text}") from None

    def close(self) -> None:
        self._loop.run(self._client.close())
        self._loop.close()

    def write(self, kind: Kind, *entities: p4r.Entity) -> None:
        """Carries out updates of one kind in order. Raises RefusedError, for the first that is refused."""
        request = p4r.WriteRequest(
            device_id=self._place.device_id,
            role=self._role,
            election_id=U128.encode(1),
            updates=[p4r.Update(type=kind, entity=entity) for entity in entities],
        )
        try:
            self._loop.run(self._client.request(request))
        except P4ClientError as error:
            raise self._refusal(error) from None

    def read(self, *entities: p4r.Entity) -> list[p4r.Entity]:
        request = p4r.ReadRequest(device_id=self._place.device_id, entities=entities)

        async def collect() -> list[p4r.Entity]:
            return [found async for reply in self._client.request_iter(request) for found in reply.entities]

        try:
            return self._loop.run(collect())
        except P4ClientError as error:
            raise self._refusal(error) from None

    def _refusal(self, error: P4ClientError) -> RefusedError | LostError:
        """The fault of an update or of a read. A whole request is NOT_FOUND where the client's role is."""
        for detail in error.details.values():
            return RefusedError(detail.message, detail.canonical_code)
        if error.code in (GRPCStatusCode.UNAVAILABLE, GRPCStatusCode.NOT_FOUND):
            return LostError(
                f"the connection to {self._place.grpc} is lost: {describe(error)}; start it again"
            )
        return RefusedError(describe(error))

    def control(self, **question: object) -> dict[str, object]:
        """Asks the control socket."""
        if self._place.control is None:
            raise RefusedError("the switch has no control socket, or --control does not name it")
        try:
            return ask(self._place.control, question)
        except ControlError as error:
            raise RefusedError(str(error)) from None

    async def _open(self) -> p4i.P4Info:
        await self._client.open(complete_request=None)
        role = p4r.Role(name=self._role)
        bid = p4r.MasterArbitrationUpdate(
            device_id=self._place.device_id, role=role, election_id=U128.encode(1)
        )
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            await self._client.send(p4r.StreamMessageRequest(arbitration=bid))
            await self._client.receive()
            return await self._installed()

    async def _installed(self) -> p4i.P4Info:
        kind = p4r.GetForwardingPipelineConfigRequest.P4INFO_AND_COOKIE
        request = p4r.GetForwardingPipelineConfigRequest(device_id=self._place.device_id, response_type=kind)
        try:
            return (await self._client.request(request)).config.p4info
        except P4ClientError as error:
            if error.code != GRPCStatusCode.FAILED_PRECONDITION:
                raise
            return p4i.P4Info()

    def _install(self) -> p4i.P4Info:
        """Sets the program that the switch runs without P4Info once more, with it."""
        program = self._place.program
        if program is None:
            cure = "name p4c's JSON with --json, or start gfswitch with --p4info FILE"
            raise RefusedError(f"the switch at {self._place.grpc} has no program with P4Info: {cure}")
        try:
            content = program.read_bytes()
            info = derived(content)
        except (OSError, ValueError) as error:
            text = reason(error) if isinstance(error, OSError) else str(error)
            raise RefusedError(f"{program}: {text}") from None
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=self._place.device_id,
            role=self._role,
            election_id=U128.encode(1),
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
            config=p4r.ForwardingPipelineConfig(p4info=info, p4_device_config=content),
        )
        self._loop.run(self._client.request(request))
        return info


def lookup(kind: str, objects: Iterable[_Named], name: str) -> _Named:
    """The object with this name, or whose name alone ends with it after a dot. Raises RefusedError."""
    found = [item for item in objects if f".{item.preamble.name}".endswith(f".{name}")]
    exact = [item for item in found if item.preamble.name == name]
    if len(exact or found) != 1:
        raise RefusedError(f"Invalid {kind} name ({name})")
    return (exact or found)[0]


def integer(text: str, name: str, most: int = (1 << 31) - 1) -> int:
    """A number of a command, not negative. Raises RefusedError."""
    try:
        number = int(text, 0)
    except ValueError:
        raise RefusedError(f"Bad format for {name}, expected integer") from None
    if not 0 <= number <= most:
        raise RefusedError(f"{name} {text} is not between 0 and {most}")
    return number
