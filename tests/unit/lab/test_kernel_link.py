"""The kernel's rules that lose frames beside switches that emulate no links."""

import pytest

from groupflow import units
from groupflow.lab import kernel_link


@pytest.mark.parametrize(
    ("change", "loss"), [("down", units.PARTS), ("up", 5), ("loss=1%", units.PARTS // 100), ("loss=0", 0)]
)
def test_a_change_of_a_link_is_a_share_of_lost_frames(change: str, loss: int) -> None:
    assert kernel_link.loss_of(change, usual=5) == loss


@pytest.mark.parametrize("change", ["rate=5mbit", "delay=1ms", "sideways", "loss=2"])
def test_a_change_that_the_kernel_does_not_emulate_is_refused(change: str) -> None:
    with pytest.raises(ValueError, match=change.partition("=")[2] or change):
        kernel_link.loss_of(change, usual=0)


def test_rules_replace_those_before() -> None:
    assert kernel_link.loss_script("s1-eth2", 10_000_000).splitlines() == [
        "nft -f - <<'end'",
        "add table netdev groupflow-s1-eth2",
        "delete table netdev groupflow-s1-eth2",
        "add table netdev groupflow-s1-eth2",
        'add chain netdev groupflow-s1-eth2 loss { type filter hook egress device "s1-eth2" priority 0; }',
        "add rule netdev groupflow-s1-eth2 loss numgen random mod 1000000000 < 10000000 drop",
        "end",
    ]
    assert "loss drop" in kernel_link.loss_script("s1-eth2", units.PARTS)
