"""One process serves a tree: a process that stood still does not take the tree back from its successor."""

import pytest

from groupflow.agents.errors import TreeError
from groupflow.store.interface import MemoryStore
from groupflow.tree.forest import Forest
from groupflow.tree.options import DispatchOptions


async def test_a_replaced_process_does_not_take_the_tree_back() -> None:
    store = MemoryStore()
    options = DispatchOptions(token="c0ffee", plain=True)
    first, second = (Forest(store, options, lambda: 0) for _ in range(2))
    await first.enter()
    await first.enter(again=True)
    await second.enter()
    with pytest.raises(TreeError, match="another process serves the tree tree"):
        await first.enter(again=True)
    await second.enter(again=True)
