"""The options that identify the far side of an encrypted connection."""

import os
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from groupflow.errors import InvalidError, UsageError, reason
from groupflow.model.fields import Help

PLAIN = Help("do not encrypt: token and data can be read on the way")


def needed(token: str, source: str = "") -> str:
    """The token. Raises UsageError where there is none; `source` says which command prints it."""
    if not token:
        cure = "name its file with --token-file, or set $GROUPFLOW_TOKEN"
        raise UsageError(f"the token is missing: {cure}{source and f'; {source} prints it'}")
    return token


@dataclass(frozen=True, kw_only=True)
class Pin:
    """A server is known by the fingerprint that it prints at its start; or by nothing."""

    tls_pin: Annotated[
        str | None,
        Help(
            "fingerprint of the server's certificate, which the server prints (default: $GROUPFLOW_TLS_PIN)",
            "HEX",
        ),
    ] = None
    plain: Annotated[bool, PLAIN] = False

    @property
    def given(self) -> str | None:
        """The fingerprint; None: no encryption. Raises UsageError where neither was asked for."""
        pin = None if self.plain else self.tls_pin or os.environ.get("GROUPFLOW_TLS_PIN")
        if pin is None and not self.plain:
            raise UsageError(
                "no way to check the server: pass the fingerprint that it prints with --tls-pin,"
                " or --plain to go without encryption"
            )
        if pin is not None and re.fullmatch(r"[0-9A-Fa-f:]{64,95}", pin) is None:
            raise UsageError(f"--tls-pin {pin}: it must be 64 hexadecimal digits")
        return pin


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A server's own certificate."""

    tls_cert: Annotated[Path | None, Help("certificate of this server, PEM")] = None
    tls_key: Annotated[Path | None, Help("key of the certificate, PEM")] = None

    @property
    def given(self) -> tuple[Path, Path] | None:
        """Raises UsageError where one of the two is missing, and InvalidError where one cannot be used."""
        if self.tls_cert is None and self.tls_key is None:
            return None
        if self.tls_cert is None or self.tls_key is None:
            raise UsageError("--tls-cert and --tls-key go together: name both, or neither")
        load = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain
        files = f"--tls-cert {self.tls_cert}, --tls-key {self.tls_key}"
        check_pem(files, partial(load, self.tls_cert, self.tls_key, password=""))
        return self.tls_cert, self.tls_key


def check_pem(files: str, load: Callable[[], object]) -> None:
    """Raises InvalidError where certificates cannot be loaded."""
    try:
        load()
    except OSError as error:
        problem = "no certificate in PEM" if isinstance(error, ssl.SSLError) else reason(error)
        raise InvalidError(f"{files}: {problem}; name PEM files") from None
