"""A gfswitch takes frames as they were on the wire: lengths, tags, checksums, and after it was down."""

from __future__ import annotations

import json
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.capture import read_capture
from tests.support.wires import Wires, wires

GFSWITCH = Path(sys.executable).parent / "gfswitch"
ADDRESSES = bytes.fromhex("020000000001020000000002")
MTU = 9400
LONGEST = 9216  # bytes of a frame that gfswitch takes
DEADLINE = 10.0


class Listener:
    """A gfswitch with one port, without a program, that records the frames it receives."""

    def __init__(self, wire: Wires, folder: Path) -> None:
        self.wire = wire
        self._socket = folder / "control"
        self.capture = folder / f"{wire.switch_end(1)}.pcapng"
        command = [GFSWITCH, "-i", f"1@{wire.switch_end(1)}", "--no-p4", "--pcap", folder]
        command += ["--control-socket", self._socket, "--", "--grpc-server-addr", "none"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline().startswith(b"gfswitch ready")

    def frames(self) -> list[bytes]:
        """Everything received up to now."""
        seen = read_capture(self.capture)
        assert {frame.comment for frame in seen} <= {"in port 1: dropped: no program"}
        return [frame.frame for frame in seen]

    def wait_for(self, *expected: bytes) -> None:
        """Waits until these frames came, in this order, and nothing else."""
        end = time.monotonic() + DEADLINE
        while len(self.frames()) < len(expected) and time.monotonic() < end:
            time.sleep(0.01)  # a poll; the deadline ends it
        assert self.frames() == list(expected)

    def port(self) -> dict[str, Any]:
        """The port's counters."""
        command = [GFSWITCH, "stats", "--socket", self._socket, "--json"]
        stats = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        return stats["ports"][0]

    def stop(self) -> None:
        """Ends the switch."""
        self._process.terminate()
        self._process.wait(timeout=DEADLINE)
        assert self._process.stdout is not None
        self._process.stdout.close()


def link(interface: str, *settings: str) -> None:
    subprocess.run(["ip", "link", "set", interface, *settings], check=True)


@pytest.fixture
def listener(tmp_path: Path) -> Generator[Listener]:
    with wires([1]) as wire:
        running = Listener(wire, tmp_path)
        try:
            yield running
        finally:
            running.stop()


def plain(length: int, mark: int = 0) -> bytes:
    return (ADDRESSES + b"\x88\xb7" + bytes([mark])).ljust(length, b"x")


def test_frames_of_every_length_come_in_order(listener: Listener) -> None:
    """Frames that do not fit a slot of the ring take another way, and keep their place in the order."""
    # As a switch lives through it: the MTU is raised while it runs.
    for end in (listener.wire.switch_end(1), listener.wire.far_end(1)):
        link(end, "mtu", str(MTU))
    lengths = [60, 1514, 1966, 1967, 1968, 1990, 2048, 2049, 4096, 60, LONGEST, 61]
    frames = [plain(length, n) for n, length in enumerate(lengths)]
    for frame in [*frames[:6], plain(LONGEST + 1), *frames[6:]]:
        listener.wire.send(1, frame)
    listener.wait_for(*frames)
    assert listener.port()["in"]["drops"]["oversize"] == 1


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_reads_a_capture_with_its_comments(listener: Listener) -> None:
    listener.wire.send(1, plain(60))
    listener.wait_for(plain(60))
    shown = ("frame.len", "frame.interface_name", "frame.comment")
    command = ["tshark", "-r", listener.capture, "-T", "fields"]
    command += [word for name in shown for word in ("-e", name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = ["60", listener.wire.switch_end(1), "in port 1: dropped: no program"]
    assert done.stdout.rstrip("\n").split("\t") == expected, done.stderr


@pytest.mark.alone
def test_many_frames_come_once_each_in_order(listener: Listener) -> None:
    """More frames than the ring has slots."""
    frames = [plain(60 + n % 1400) + n.to_bytes(4, "big") for n in range(10_000)]
    for start in range(0, len(frames), 2000):  # not more than the ring holds
        for frame in frames[start : start + 2000]:
            listener.wire.send(1, frame)
        listener.wait_for(*frames[: start + 2000])


@pytest.mark.parametrize("length", [60, 1518, 4000])
def test_a_vlan_tag_that_the_kernel_takes_off_is_put_back(listener: Listener, length: int) -> None:
    for end in (listener.wire.switch_end(1), listener.wire.far_end(1)):
        link(end, "mtu", str(MTU))
    frame = (ADDRESSES + b"\x81\x00\x20\x05" + b"\x88\xb7tagged").ljust(length, b"y")
    listener.wire.send(1, frame)
    listener.wait_for(frame)


@pytest.mark.parametrize("length", [60, 3000])
def test_a_checksum_left_to_hardware_is_completed(listener: Listener, length: int) -> None:
    for end in (listener.wire.switch_end(1), listener.wire.far_end(1)):
        link(end, "mtu", str(MTU))
    udp_length = length - 34
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length - 14, 0, 0, 64, 17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2")
    pseudo = ones_sum(ip[12:20] + struct.pack(">HH", 17, udp_length))
    udp = struct.pack(">HHHH", 1, 2, udp_length, pseudo).ljust(udp_length, b"z")
    frame = ADDRESSES + b"\x08\x00" + ip + udp
    header = struct.pack("=BBHHHH", 1, 0, 0, 0, 34, 6)  # virtio_net_hdr: the checksum is still to do
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.setsockopt(263, 15, 1)  # SOL_PACKET, PACKET_VNET_HDR
        sender.bind((listener.wire.far_end(1), 0x0800))
        sender.send(header + frame)
    checksum = ~ones_sum(udp) & 0xFFFF
    listener.wait_for(frame[:40] + checksum.to_bytes(2, "big") + frame[42:])


def ones_sum(data: bytes, start: int = 0) -> int:
    """The sum of the Internet checksum (RFC 1071)."""
    total = start + sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def test_an_interface_that_was_down_is_used_again(listener: Listener) -> None:
    near = listener.wire.switch_end(1)
    listener.wire.send(1, plain(100))
    listener.wait_for(plain(100))
    link(near, "down")
    link(near, "up")
    end = time.monotonic() + DEADLINE
    while plain(200) not in listener.frames() and time.monotonic() < end:
        listener.wire.send(1, plain(200))  # the first ones may be lost: the far end notices a moment later
        time.sleep(0.01)
    assert set(listener.frames()) == {plain(100), plain(200)}


def test_a_capture_that_fills_its_disk_is_told_and_the_switch_ends_with_1(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], check=True)
    try:
        with wires([1]) as wire:
            socket_, capture = tmp_path / "control", tmp_path / f"{wire.switch_end(1)}.pcapng"
            command = [GFSWITCH, "-i", f"1@{wire.switch_end(1)}", "--no-p4", "--pcap", tmp_path]
            command += ["--control-socket", socket_, "--", "--grpc-server-addr", "none"]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            assert process.stdout is not None
            process.stdout.readline()
            told = f"capture {capture}: No space left on device (os error 28); free some room there"
            end, shown = time.monotonic() + DEADLINE, ""
            while told not in shown and time.monotonic() < end:
                wire.send(1, plain(1400))
                stats = [GFSWITCH, "stats", "--socket", socket_]
                shown = subprocess.run(stats, check=True, capture_output=True, text=True).stdout
            process.terminate()
            _, errors = process.communicate(timeout=DEADLINE)
            assert told in shown
            assert (process.returncode, errors.splitlines()[-1]) == (
                1,
                f"gfswitch: {told}, or name another --pcap",
            )
            # A second one that finds the disk full does not begin.
            capture.rename(tmp_path / "old")
            done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)
            assert (done.returncode, told in done.stderr, done.stdout) == (1, True, "")
    finally:
        subprocess.run(["umount", tmp_path], check=True)
