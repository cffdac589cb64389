"""One file over one TCP connection per receiver: run in hosts as a script, needs nothing but Python.

    tcp_copy.py serve PORT FILE RECEIVERS [PACE]    waits for all receivers, then sends to all at once
    tcp_copy.py fetch HOST PORT                     prints {"bytes", "finished", "sha256"}

PACE is bit/s of each connection (Linux's SO_MAX_PACING_RATE), for networks that do not limit the rate.
"""

import hashlib
import json
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

SO_MAX_PACING_RATE = 47  # asm-generic/socket.h; bytes per second
CONGESTION_CONTROL = b"cubic"
"""Linux's usual control; systems set to another one would give figures that cannot be compared."""
CONNECT_SECONDS = 20.0
_CHUNK = 1 << 18


def serve(port: int, file: Path, receivers: int, pace: int | None) -> None:
    with socket.create_server(("", port), backlog=receivers) as server:
        with suppress(OSError):  # a kernel without it: the answer names the one in use
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONGESTION_CONTROL)
        control = server.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
        print("ready", flush=True)
        connections = [server.accept()[0] for _ in range(receivers)]
    print(json.dumps({"started": time.time(), "congestion_control": control}), flush=True)
    threads = [threading.Thread(target=_send, args=(c, file, pace)) for c in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def fetch(host: str, port: int) -> None:
    digest = hashlib.sha256()
    received = 0
    with _connect(host, port) as connection:
        while chunk := connection.recv(_CHUNK):
            digest.update(chunk)
            received += len(chunk)
    print(json.dumps({"bytes": received, "finished": time.time(), "sha256": digest.hexdigest()}))


def _send(connection: socket.socket, file: Path, pace: int | None) -> None:
    with connection, file.open("rb") as data:
        if pace is not None:
            connection.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, pace // 8)
        connection.sendfile(data)


def _connect(host: str, port: int) -> socket.socket:
    """Connects, with retries: the server may not listen yet, and the first packets of a path may be lost."""
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=CONNECT_SECONDS)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            connection.settimeout(None)
            return connection


def main(arguments: list[str]) -> int:
    try:
        match arguments:
            case ["serve", port, file, receivers, *pace]:
                serve(int(port), Path(file), int(receivers), int(pace[0]) if pace else None)
            case ["fetch", host, port]:
                fetch(host, int(port))
            case _:
                print("tcp_copy: serve PORT FILE RECEIVERS [PACE], or fetch HOST PORT", file=sys.stderr)
                return 2
    except OSError as error:
        print(f"tcp_copy: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
