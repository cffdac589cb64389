"""Options of the demo."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from groupflow import units
from groupflow.files import variants
from groupflow.lab import kernel_link
from groupflow.model.topology import Topology
from groupflow.study.experiment import StudyOptions

BMV2_RATE = 10_000_000
"""bit/s that BMv2 carries to 15 receivers on two cores with room to spare"""
DEFAULT_BYTES = 64 << 20
DEFAULT_LOSS = units.PARTS // 100
SENDER = "ma1"
_TRUNK = ("s1", "s2")


@dataclass(frozen=True)
class Options(StudyOptions):
    file: Path | None = None
    """the file to send; None: `size` random bytes"""
    size: int = DEFAULT_BYTES
    members: int = 5
    loss: int = DEFAULT_LOSS
    """parts per 10^9, on every link, of a run beside the one without loss"""
    mode: Literal["e2e", "n2n"] = "e2e"
    policy: Literal["strict", "isolate"] = "strict"
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
