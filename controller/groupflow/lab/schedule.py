"""Changes of links while a network runs, at the times that its topology gives."""

import logging
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from groupflow.lab.network import Network
from groupflow.p4rt.control_socket import ControlError

log = logging.getLogger(__name__)
_ONE_SECOND_NS = 1_000_000_000


@contextmanager
def scheduled(network: Network) -> Generator[None]:
    """Carries out the schedules of the network's links, from the start of the block to its end."""
    started = time.monotonic_ns()
    steps = [(step, link) for link in network.topology.links for step in link.schedule]
    steps.sort(key=lambda each: each[0].at_ns)
    ended = threading.Event()

    def work() -> None:
        for step, link in steps:
            if ended.wait(max(0, started + step.at_ns - time.monotonic_ns()) / _ONE_SECOND_NS):
                return
            try:
                network.change(link, step.change)
            except ControlError as error:  # of a switch that died: the next change may find it again
                log.warning("link=%s change=%s failed: %s", link.name, step.change, error)

    thread = threading.Thread(target=work, name="schedule", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
