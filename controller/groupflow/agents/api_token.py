"""The token of a REST API: made when the API starts, in a file of its owner's, where programs find it.

`headers(url)` is all that a program needs to be let in by an API of the same user on the same machine.
"""

import os
import secrets
import ssl
import stat
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from groupflow.agents.errors import ClientError
from groupflow.data import RUN_FOLDER
from groupflow.errors import Error, reason

VARIABLE = "GROUPFLOW_API_TOKEN"
"""environment variable of an API's token: for the API, and for programs elsewhere"""
AUTHORITY = "GROUPFLOW_API_CA"
"""environment variable: PEM file that has the API's certificate, or that of the authority that signed it"""
INSECURE = "GROUPFLOW_API_INSECURE"
"""environment variable that lets a token be sent to another machine without encryption"""


def headers(url: str, token: str | None = None) -> dict[str, str]:
    """The headers by which the API at `url` lets a program in; `token` None: the one that is found.

    Raises ClientError where others could read the token on its way.
    """
    token = token or os.environ.get(VARIABLE)
    if token and _is_clear(url) and not os.environ.get(INSECURE):
        raise ClientError(
            f"{url}: others could read the token on its way; write https://,"
            f" or set {INSECURE}=1 in a network that you trust"
        )
    token = token or find(url)
    return {"Authorization": f"Bearer {token}"} if token else {}


def trusted() -> ssl.SSLContext:
    """The certificates by which an API is trusted. Raises ClientError."""
    authority = os.environ.get(AUTHORITY) or None
    try:
        return ssl.create_default_context(cafile=authority)
    except OSError as error:
        raise ClientError(f"{AUTHORITY} {authority}: {reason(error)}; name a certificate, PEM") from None


def _is_clear(url: str) -> bool:
    """Whether requests leave this machine unencrypted."""
    parts = urlsplit(url)
    if parts.scheme != "http" or parts.hostname == "localhost":
        return False
    try:
        host = ip_address(parts.hostname or "")
    except ValueError:
        return True
    return not (host.is_loopback or host.is_unspecified)


def find(url: str) -> str | None:
    """The token of the API at `url`: that of the environment, else of a private file of this user's.

    There is a file only where the API runs on this machine.
    """
    if token := os.environ.get(VARIABLE):
        return token
    with suppress(OSError, ValueError):
        descriptor = os.open(_path(url), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor) as file:
            if _is_private(os.fstat(descriptor)):
                return file.read().strip()
    return None


def page(url: str) -> str:
    """The address that lets a browser in; without the token where others can read standard output."""
    with suppress(OSError):
        about = os.fstat(1)
        if stat.S_ISREG(about.st_mode) and about.st_mode & 0o077:
            return f"{url}/?token=(in {_path(url)})"
    return f"{url}/?token={find(url)}"


@contextmanager
def published(urls: Sequence[str]) -> Generator[str]:
    """The token of an API that is served at these addresses, for as long as it is. Raises Error."""
    token = new()
    with ExitStack() as files:
        for url in urls:
            files.enter_context(forgotten(keep(url, token), token))
        yield token


@contextmanager
def forgotten(path: Path | None, token: str) -> Generator[None]:
    """Removes a token's file at the end of the block, unless another API has taken the address over."""
    try:
        yield
    finally:
        with suppress(OSError):
            if path and path.read_text() == token:
                path.unlink()


def past_mounts(path: Path) -> tuple[int, Path]:
    """A descriptor of the path's folder, and a path by it that holds where something is mounted over it."""
    folder = os.open(path.parent, os.O_PATH)
    return folder, Path(f"/proc/self/fd/{folder}", path.name)


def new() -> str:
    """A token for an API that starts: that of the environment, or a new one."""
    return os.environ.get(VARIABLE) or secrets.token_hex(32)


def keep(url: str, token: str) -> Path:
    """Writes the token's file, which only its owner can read from the first moment. Raises Error."""
    folder = _folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(folder.lstat()):
            raise Error(f"{folder} is open to others; run: chmod 700 {folder}")
        path = _path(url)
        part = path.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(token)
        part.replace(path)
    except OSError as error:
        raise Error(f"{folder}: {reason(error)}") from None
    return path


def _folder() -> Path:
    if os.geteuid() == 0:
        return RUN_FOLDER / "api"
    own = os.environ.get("XDG_RUNTIME_DIR")
    return (Path(own) if own else Path.home() / ".local/state") / "groupflow/api"


def _is_private(about: os.stat_result) -> bool:
    return about.st_uid == os.geteuid() and not about.st_mode & 0o077


def _path(url: str) -> Path:
    """The file of an API's token. Raises ValueError."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if "/" in host:
        raise ValueError(host)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return _folder() / f"{'127.0.0.1' if host in ('localhost', '0.0.0.0') else host},{port}.token"
