"""Fixtures of the P4 tests."""

from __future__ import annotations

import pytest

from groupflow.switch import Switch
from tests.support.p4 import network


@pytest.fixture
def bare() -> Switch:
    """A switch with the program and no entries."""
    return network.new_switch()


@pytest.fixture
def switch(bare: Switch) -> Switch:
    """A switch with the session of network.py."""
    return network.with_session(bare)
