"""Options of the demo."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from groupflow import units
from groupflow.files import variants
from groupflow.lab import kernel_link
from groupflow.lab.registry import SwitchKind
from groupflow.model.fields import Delay, FiniteRate, Help, Loss, Range, Size
from groupflow.model.session import ModeOption, PolicyOption
from groupflow.model.topology import Topology
from groupflow.model.values import Name
from groupflow.study.experiment import StudyOptions

BMV2_RATE = 10_000_000
"""bit/s that BMv2 carries to 15 receivers on two cores with room to spare"""
DEFAULT_BYTES = 64 << 20
DEFAULT_LOSS = units.PARTS // 100
SENDER = "ma1"
_TRUNK = ("s1", "s2")


@dataclass(frozen=True)
class Options(StudyOptions):
    switch: Annotated[SwitchKind, Help("switch program; bmv2 runs at a rate that it can do")] = "gfswitch"
    file: Annotated[Path | None, Help("file to send (default: 64 MiB of random bytes)")] = None
    size: Annotated[Size, Help("number of random bytes to send"), Range(1)] = DEFAULT_BYTES
    members: Annotated[int, Help("number of members of each network", "N"), Range(1, 5)] = 5
    loss: Annotated[Loss, Help("loss of every link in the second run; 0: no second run")] = DEFAULT_LOSS
    mode: ModeOption = "e2e"
    policy: PolicyOption = "strict"
    rate: Annotated[FiniteRate | None, Help("rate of every link (default: the topology's)")] = None
    delay_ns: Annotated[
        Delay | None, Help("delay between the split agents (default: the topology's)"), Name("--delay")
    ] = None
    out: Annotated[Path, Help("folder for data and figures", "FOLDER")] = Path("out/demo")
    baseline: Annotated[bool, Help("--no-baseline: leave TCP out")] = True

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
            network = variants.with_links(network, lambda spec: replace(spec, delay_ns=0))
            rate = rate or BMV2_RATE
        if rate is not None:
            network = variants.with_rate(network, rate)
        if (delay_ns := self.delay_ns) is not None:
            network = variants.with_link(network, *_TRUNK, lambda spec: replace(spec, delay_ns=delay_ns))
        return network
