"""P4_16 by small programs, each with entries and frames in, and the frames that must leave."""

from __future__ import annotations

from pathlib import Path

import finsy as fy
import pytest

from groupflow import Switch
from tests.unit.language.steps import PORTS, Frame, programs, steps

SECOND = 10**9


def run(switch: Switch, path: Path) -> None:
    """Takes the steps of a program, and looks at each frame."""
    frames = 0
    for step in steps(path):
        if isinstance(step, Frame):
            frames += 1
            switch.inject(step.port, step.data, frames * SECOND)
            # A packet that is sent through the switch again leaves later.
            left = switch.advance(frames * SECOND) + switch.advance(frames * SECOND + SECOND - 1)
            assert sorted((one.port, one.frame) for one in left) == step.out, f"frame {frames}"
        else:
            switch.write(~step if isinstance(step, fy.P4ValueSetEntry) else +step)
    assert frames, "the program says what leaves"


@pytest.mark.slow
@pytest.mark.parametrize("path", programs(), ids=lambda path: path.stem)
def test_a_program_does_as_the_specification_says(path: Path) -> None:
    run(Switch.compile(path, ports=PORTS), path)


def test_a_register_has_any_width() -> None:
    switch = Switch.compile(next(path for path in programs() if path.stem == "wide"), ports=PORTS)
    most = (1 << 376) - 1
    for value in (most, 1 << 200 | 5, 0):
        switch.set_register("sums", 0, value)
        assert (switch.register("sums", 0), switch.register("sums", 1)) == (value, 0)
    with pytest.raises(ValueError, match="does not fit 376 bits"):
        switch.set_register("sums", 0, most + 1)
