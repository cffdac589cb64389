"""Options of the demo, from the command line."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from groupflow import units
from groupflow.cli import values
from groupflow.files import variants
from groupflow.lab import kernel_link
from groupflow.lab.network import SwitchKind
from groupflow.model.topology import Topology

BMV2_RATE = 10_000_000
"""bit/s that BMv2 carries to 15 receivers on two cores with room to spare"""
DEFAULT_BYTES = 64 << 20
DEFAULT_LOSS = units.PARTS // 100
SENDER = "ma1"
_TRUNK = ("s1", "s2")


@dataclass(frozen=True)
class Options:
    file: Path | None = None
    """the file to send; None: `size` random bytes"""
    size: int = DEFAULT_BYTES
    members: int = 5
    loss: int = DEFAULT_LOSS
    """parts per 10^9, on every link, of a run beside the one without loss"""
    mode: str = "e2e"
    policy: str = "strict"
    switch: SwitchKind = "gfswitch"
    rate: int | None = None
    """bit/s of every link; None: the topology's"""
    delay_ns: int | None = None
    """delay of the link between the split agents; None: the topology's"""
    out: Path = Path("out/demo")
    baseline: bool = True

    @property
    def losses(self) -> tuple[int, ...]:
        """The losses of the runs. Beside BMv2 the kernel emulates losses, where it can."""
        emulated = self.switch == "gfswitch" or kernel_link.is_offered()
        return (0, self.loss) if self.loss and emulated else (0,)

    def topology(self) -> Topology:
        """Fig. 5 with the changes of these options."""
        network = variants.with_members(variants.named("fig5"), self.members)
        rate = self.rate
        if self.switch == "bmv2":
            network, rate = variants.without_delay(network), rate or BMV2_RATE
        if rate is not None:
            network = variants.with_rate(network, rate)
        if self.delay_ns is not None:
            network = variants.with_delay(network, *_TRUNK, self.delay_ns)
        return network


def add_options(parser: argparse.ArgumentParser) -> None:
    """Each run takes about as long as the file at the links' rate, and up to half a minute for TCP."""
    add = parser.add_argument
    add("--file", type=Path, help="file to send (default: 64 MiB of random bytes)")
    add("--size", type=_size, default=DEFAULT_BYTES, help="random bytes to send, e.g. 16MiB")
    add("--members", type=_members, default=5, help="members of each network: 1 to 5")
    add(
        "--loss", type=values.value(units.parse_loss), default=DEFAULT_LOSS,
        help="loss of every link in the second run, e.g. 0.01 or 1%% (default: 1%%); 0: no second run",
    )  # fmt: skip
    add("--mode", choices=("e2e", "n2n"), default="e2e", help="acknowledge at receivers, or at caches")
    slow = "treatment of a slow receiver"
    add("--policy", choices=("strict", "isolate"), default="strict", help=slow)
    add("--switch", choices=("gfswitch", "bmv2"), default="gfswitch")
    add("--rate", type=_rate, help="rate of every link, e.g. 50mbit (a bare number: Mbit/s)")
    delay = "delay between the split agents, e.g. 50ms (a bare number: ms)"
    add("--delay", dest="delay_ns", type=_delay, help=delay)
    add("--no-baseline", dest="baseline", action="store_false", help="leave TCP out")


def read(args: argparse.Namespace) -> Options:
    return values.options(Options, args)


def _members(text: str) -> int:
    if text not in ("1", "2", "3", "4", "5"):
        raise argparse.ArgumentTypeError(f"{text!r} will not do; write a number from 1 to 5")
    return int(text)


def _rate(text: str) -> int:
    return values.rate(f"{text}mbit" if _is_bare(text) else text)


def _delay(text: str) -> int:
    return values.value(units.parse_delay)(f"{text}ms" if _is_bare(text) else text)


def _size(text: str) -> int:
    size = values.size(text)
    if size == 0:
        raise argparse.ArgumentTypeError("'0' is no size of a file to send; write 1 or more")
    return size


def _is_bare(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()
