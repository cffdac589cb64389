"""The neighbours of the switches on a flow's way."""

from groupflow.control.diffusion.routes import flow_places
from groupflow.files import variants
from groupflow.model.flow import FlowRequest

MS = 1_000_000


def delay(one: str, other: str) -> int:
    """The delay that a link of the chain has; those of hosts have none."""
    return 0 if {one[0], other[0]} == {"h", "s"} else 5 * MS


def test_a_host_that_shapes_is_told_and_another_is_not() -> None:
    chain = variants.named("chain")
    request = FlowRequest(kind="flow", src="h3", dst="h7", protocol="tcp")
    first, second, *_ = flow_places(chain, request, delay)
    assert first.upstream is None
    assert second.upstream and not second.upstream.external

    told = FlowRequest(kind="flow", src="h3", dst="h7", protocol="tcp", external=True)
    first, second, *_ = flow_places(chain, told, delay)
    # Without a delay of the host's own link D / d would have no value: d_0 is that of the next link.
    assert first.upstream and first.upstream.external and first.upstream.delay_ns == 5 * MS
    assert first.upstream.node == "h3" and second.upstream and not second.upstream.external
    first, *_ = flow_places(chain, told, lambda one, other: 2 * MS)
    assert first.upstream and first.upstream.delay_ns == 2 * MS
