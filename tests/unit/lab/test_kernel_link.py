"""The kernel's rules that lose frames beside switches that emulate no links."""

from groupflow import units
from groupflow.lab import kernel_link


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
