"""Plain TCP programs for the experiment: run in hosts as a script, need nothing but Python.

    messages.py listen PORT   takes one connection; prints {"time", "bytes"} when it listens, and now and then
    messages.py send PLAN     connects, prints {"start"}, writes messages, and stays until it is killed

PLAN is JSON: {"targets": [[HOST, PORT], ...], "control": NAME, "messages": [[SECONDS, BYTES], ...]}. Every
target gets every message, at so many seconds after the start, or later while a connection is busy.
Printed times are seconds since the epoch.
"""

import json
import selectors
import socket
import sys
import time
from contextlib import suppress

SAMPLE_SECONDS = 0.02
CONNECT_SECONDS = 20.0
_CHUNK = bytes(1 << 16)


def listen(port: int) -> None:
    with socket.create_server(("", port)) as server:
        _print_sample(0)
        connection, _ = server.accept()
    received = printed = 0
    due = 0.0
    connection.settimeout(SAMPLE_SECONDS)
    with connection, suppress(ConnectionResetError):
        while True:
            with suppress(TimeoutError):
                chunk = connection.recv(len(_CHUNK))
                if not chunk:
                    break
                received += len(chunk)
            if received > printed and (now := time.time()) >= due:
                due, printed = now + SAMPLE_SECONDS, received
                _print_sample(received)


def _print_sample(received: int) -> None:
    print(json.dumps({"time": time.time(), "bytes": received}), flush=True)


def send(targets: list[tuple[str, int]], control: str, messages: list[tuple[float, int]]) -> None:
    """Sends `messages`, whose first element is the next message, to all targets; then stays."""
    connections = [_connect(host, port, control) for host, port in targets]
    waiting = dict.fromkeys(connections, 0)
    start = time.time()
    print(json.dumps({"start": start}), flush=True)
    with selectors.DefaultSelector() as selector:
        while True:
            while messages and time.time() >= start + messages[0][0]:
                _, size = messages.pop(0)
                for connection in connections:
                    if not waiting[connection]:
                        selector.register(connection, selectors.EVENT_WRITE)
                    waiting[connection] += size
            until = start + messages[0][0] - time.time() if messages else None
            for key, _ in selector.select(until if until is None else max(until, 0.0)):
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                with suppress(BlockingIOError):
                    waiting[connection] -= connection.send(_CHUNK[: waiting[connection]])
                if not waiting[connection]:
                    selector.unregister(connection)


def _connect(host: str, port: int, control: str) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    connection.settimeout(CONNECT_SECONDS)
    connection.connect((host, port))
    connection.setblocking(False)
    return connection


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["listen", port]:
            listen(int(port))
        case ["send", plan]:
            send(**json.loads(plan))
        case _:
            sys.exit(__doc__)
