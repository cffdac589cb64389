"""The abilities that a target lacks, each with the reason: cases that need one are skipped there."""

from collections.abc import Mapping

_NO_TICKS = "ticks of the suite come in by port 0, which is no packet generator there"
_CHIP = {"diffusion": _NO_TICKS, "diffusion rates": _NO_TICKS}

PROFILES: Mapping[str, Mapping[str, str]] = {
    "gfswitch": {},
    "bmv2": {"diffusion rates": "simple_switch_grpc offers no registers over P4Runtime"},
    "tofino": {"one pipe": "a RESET of the CPU port reaches AckBound in the pipe of that port only", **_CHIP},
    "tofino2": _CHIP,
}
