"""Requests of programs to the dispatchers of a tree: `groupflow tree show`.

The first line is `{"ask": {"token": …, "what": "hosts"}}`; the answer is
`{"tree": {"source": …, "root": …, "bound_ms": …, "hosts": [{…}, …]}}`, or
`{"refused": {"code": …, "text": …}}`.
"""

import asyncio
import hmac
import json
import ssl
from contextlib import suppress
from typing import Any

from groupflow import units
from groupflow.agents.errors import TreeError, TreeRefusedError
from groupflow.errors import reason
from groupflow.tree.connection import fingerprint

ANSWER = 16 << 20
"""most bytes of an answer: all hosts of a tree"""
_CURE = "check --to, and that groupflow tree serve runs"


async def connect(
    to: str, tls_pin: str | None, *, patience: float = 10.0
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to IP:PORT, where a process with the tree's certificate listens.

    Without a `tls_pin` there is no encryption. Raises TreeError, TreeRefusedError (another certificate).
    """
    # Without authorities: the certificate's fingerprint is checked before anything is sent.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        host, port = units.parse_address(to)
    except units.UnitError as error:
        raise TreeRefusedError(str(error)) from None
    try:
        async with asyncio.timeout(patience):
            reader, writer = await asyncio.open_connection(
                host, port, limit=ANSWER, ssl=None if tls_pin is None else context
            )
    except TimeoutError:
        raise TreeError(f"no answer from {to} within {patience:g} s; {_CURE}") from None
    except ssl.SSLError as error:
        raise TreeError(f"no TLS with {to}: {(error.reason or 'failed').lower()}; {_CURE}") from None
    except OSError as error:
        raise TreeError(f"no answer from {to}: {reason(error)}; {_CURE}") from None
    if tls_pin is not None:
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        if not hmac.compare_digest(fingerprint(certificate), tls_pin.replace(":", "").lower()):
            writer.transport.abort()
            raise TreeRefusedError(f"{to} has another certificate; check --tls-pin")
    return reader, writer


async def ask(to: str, tls_pin: str | None, token: str, *, patience: float = 10.0) -> dict[str, Any]:
    """A snapshot of the tree. `patience`: seconds for the answer. Raises TreeError, TreeRefusedError."""
    reader, writer = await connect(to, tls_pin, patience=patience)
    try:
        writer.write(json.dumps({"ask": {"token": token, "what": "hosts"}}).encode() + b"\n")
        async with asyncio.timeout(patience):
            line = await reader.readline()
        if not line:
            raise TreeError(f"{to}: the dispatchers ended the connection; read their messages, and try again")
        answer: Any = json.loads(line)
        if "refused" in answer:
            raise TreeRefusedError(str(answer["refused"]["text"]))
        return answer["tree"]
    except TimeoutError:
        raise TreeError(f"{to}: no answer for {patience:g} s; {_CURE}") from None
    except (ValueError, TypeError, KeyError):
        raise TreeError(f"{to}: its answer makes no sense; check that it is of this version") from None
    except OSError as error:
        raise TreeError(f"{to}: the connection is lost: {reason(error)}; try again") from None
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
