"""Plain TCP programs for experiments: run in hosts as a script, need nothing but Python.

    tcp.py listen PORT [WINDOW]               takes one connection; prints {"time", "bytes"} when it listens,
                                              now and then, and at its end
    tcp.py send PLAN                          connects, prints {"start"}, writes messages, and stays
    tcp.py flow HOST PORT CONTROL SECONDS     sends all it can; at the end prints {"time", "retransmitted"}
    tcp.py serve PORT FILE RECEIVERS [PACE]   waits for all receivers, then sends to all at once
    tcp.py fetch HOST PORT                    prints {"bytes", "finished", "sha256"}

WINDOW is the largest window in bytes, as the receiver advertises it, which needs root. PLAN is JSON:
{"targets": [[HOST, PORT], ...], "control": NAME, "messages": [[SECONDS, BYTES], ...]}. Every target gets
every message, at so many seconds after the start, or later while a connection is busy. PACE is bit/s of each
connection (Linux's SO_MAX_PACING_RATE), for networks that do not limit the rate. Printed times are seconds
since the epoch.
"""

import hashlib
import json
import select
import selectors
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

SAMPLE_SECONDS = 0.02
CONNECT_SECONDS = 20.0
CONGESTION_CONTROL = "cubic"
"""Linux's usual control; systems set to another one would give figures that cannot be compared."""
TCP_WINDOW_CLAMP = 10  # linux/tcp.h
SO_RCVBUFFORCE, SO_MAX_PACING_RATE = 33, 47  # asm-generic/socket.h; the latter in bytes per second
# struct tcp_info: total_retrans is a 32-bit word behind 8 bytes of state and options.
_INFO, _TOTAL_RETRANSMITTED = struct.Struct("8x24I"), 23
_CHUNK = bytes(1 << 16)


def listen(port: int, window: int | None) -> None:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if window is not None:
            # The buffer must also hold the packets' own memory: the clamp limits the window.
            server.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4 * window)
            server.setsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP, window)
        server.bind(("", port))
        server.listen(1)
        _print(time=time.time(), bytes=0)
        connection, _ = server.accept()
    received = printed = 0
    due = 0.0
    connection.settimeout(SAMPLE_SECONDS)
    with connection, suppress(ConnectionResetError):
        while True:
            with suppress(TimeoutError):
                if not (chunk := connection.recv(len(_CHUNK))):
                    return _print(time=time.time(), bytes=received)
                received += len(chunk)
                if window is not None:
                    _clamp(connection, window)
            if received > printed and (now := time.time()) >= due:
                due, printed = now + SAMPLE_SECONDS, received
                _print(time=now, bytes=received)


def _clamp(connection: socket.socket, window: int) -> None:
    """Since Linux 6.10 the kernel sets the clamp anew when it learns how much memory a segment takes."""
    if connection.getsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP) != window:
        connection.setsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP, window)


def send(targets: list[tuple[str, int]], control: str, messages: list[tuple[float, int]]) -> None:
    """Sends `messages`, whose first element is the next message, to all targets; then stays."""
    connections = [_connect(host, port, control) for host, port in targets]
    waiting = dict.fromkeys(connections, 0)
    start = time.time()
    _print(start=start)
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


def flow(host: str, port: int, control: str, seconds: float) -> None:
    # The socket must hold no more than the network takes soon: the sender stops when its time is over.
    with _connect(host, port, control, buffer=1 << 20) as connection:
        end = time.time() + seconds
        while (left := end - time.time()) > 0:
            if select.select([], [connection], [], left)[1]:
                with suppress(BlockingIOError):
                    connection.send(_CHUNK)
        words = _INFO.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size))
        _print(time=time.time(), retransmitted=words[_TOTAL_RETRANSMITTED])
        # Bytes that still wait here would arrive after the measurement.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def serve(port: int, file: Path, receivers: int, pace: int | None) -> None:
    with socket.create_server(("", port), backlog=receivers) as server:
        with suppress(OSError):  # a kernel without it: the answer names the one in use
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONGESTION_CONTROL.encode())
        control = server.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
        print("ready", flush=True)
        connections = [server.accept()[0] for _ in range(receivers)]
    _print(started=time.time(), congestion_control=control)
    threads = [threading.Thread(target=_send_file, args=(c, file, pace)) for c in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _send_file(connection: socket.socket, file: Path, pace: int | None) -> None:
    with connection, file.open("rb") as data:
        if pace is not None:
            connection.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, pace // 8)
        connection.sendfile(data)


def fetch(host: str, port: int) -> None:
    digest = hashlib.sha256()
    received = 0
    with _connect(host, port) as connection:
        connection.setblocking(True)
        while chunk := connection.recv(len(_CHUNK)):
            digest.update(chunk)
            received += len(chunk)
    _print(bytes=received, finished=time.time(), sha256=digest.hexdigest())


def _connect(host: str, port: int, control: str | None = None, buffer: int | None = None) -> socket.socket:
    """Connects, with retries: the server may not listen yet, and the first packets of a path may be lost.
    Reads and writes do not block."""
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        connection = socket.socket()
        if control is not None:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        if buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        connection.settimeout(CONNECT_SECONDS)
        try:
            connection.connect((host, port))
        except OSError:
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            connection.setblocking(False)
            return connection


def _print(**sample: object) -> None:
    print(json.dumps(sample), flush=True)


def main(arguments: list[str]) -> int:
    try:
        match arguments:
            case ["listen", port, *window]:
                listen(int(port), int(window[0]) if window else None)
            case ["send", plan]:
                send(**json.loads(plan))
            case ["flow", host, port, control, seconds]:
                flow(host, int(port), control, float(seconds))
            case ["serve", port, file, receivers, *pace]:
                serve(int(port), Path(file), int(receivers), int(pace[0]) if pace else None)
            case ["fetch", host, port]:
                fetch(host, int(port))
            case _:
                print("tcp: listen, send, flow, serve or fetch, with their arguments", file=sys.stderr)
                return 2
    except OSError as error:
        print(f"tcp: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
