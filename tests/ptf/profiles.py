"""The abilities that a target lacks, each with the reason: cases that need one are skipped there."""

from collections.abc import Mapping

PROFILES: Mapping[str, Mapping[str, str]] = {
    "gfswitch": {},
    "bmv2": {"diffusion rates": "simple_switch_grpc offers no registers over P4Runtime"},
    "tofino": {
        "diffusion": "ticks of the suite come in by port 0, which is no packet generator there",
        "diffusion rates": "ticks of the suite come in by port 0, which is no packet generator there",
    },
}
