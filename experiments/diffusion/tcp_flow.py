"""A greedy TCP flow of the kernel: run in hosts as a script, needs nothing but Python.

    tcp_flow.py sink PORT WINDOW                    one connection; prints {"time", "bytes"} now and then
    tcp_flow.py send HOST PORT CONTROL SECONDS      prints {"time", "cwnd", "retransmitted"} now and then

WINDOW is the largest window in bytes, as the receiver advertises it; a sink needs root for it. Times are
seconds since the epoch.
"""

import json
import select
import socket
import struct
import sys
import time
from contextlib import suppress

SAMPLE_SECONDS = 0.05
CONNECT_SECONDS = 20.0
_CHUNK = 1 << 16
TCP_WINDOW_CLAMP = 10  # linux/tcp.h
SO_RCVBUFFORCE = 33  # asm-generic/socket.h
# struct tcp_info: snd_cwnd and total_retrans are 32-bit words behind 8 bytes of state and options.
_INFO = struct.Struct("8x24I")
_CWND, _TOTAL_RETRANSMITTED = 18, 23


def sink(port: int, window: int) -> None:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # The buffer must also hold the packets' own memory: the clamp limits the window.
        server.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4 * window)
        server.setsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP, window)
        server.bind(("", port))
        server.listen(1)
        print("ready", flush=True)
        connection, _ = server.accept()
    received, due = 0, 0.0
    with connection:
        while chunk := connection.recv(_CHUNK):
            received += len(chunk)
            # Since Linux 6.10 the kernel sets the clamp anew when it learns how much memory a segment takes.
            if connection.getsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP) != window:
                connection.setsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP, window)
            if (now := time.time()) >= due:
                due = now + SAMPLE_SECONDS
                print(json.dumps({"time": now, "bytes": received}), flush=True)
    print(json.dumps({"time": time.time(), "bytes": received}), flush=True)


def send(host: str, port: int, control: str, seconds: float) -> None:
    with _connect(host, port, control) as connection:
        connection.setblocking(False)
        start = now = time.time()
        due, data = now, bytes(_CHUNK)
        while now < start + seconds:
            ready = select.select([], [connection], [], max(0.0, due - now))[1]
            if ready:
                with suppress(BlockingIOError):
                    connection.send(data)
            if (now := time.time()) >= due:
                due = now + SAMPLE_SECONDS
                _report(connection, now)
        _report(connection, now)
        # Bytes that still wait here would arrive after the measurement.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _report(connection: socket.socket, now: float) -> None:
    words = _INFO.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size))
    sample = {"time": now, "cwnd": words[_CWND], "retransmitted": words[_TOTAL_RETRANSMITTED]}
    print(json.dumps(sample), flush=True)


def _connect(host: str, port: int, control: str) -> socket.socket:
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        connection = socket.socket()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        # The socket must hold no more than the network takes soon: the sender stops when its time is over.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        try:
            connection.connect((host, port))
        except OSError:
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return connection


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["sink", port, window]:
            with suppress(ConnectionResetError):
                sink(int(port), int(window))
        case ["send", host, port, control, seconds]:
            send(host, int(port), control, float(seconds))
        case _:
            sys.exit(__doc__)
