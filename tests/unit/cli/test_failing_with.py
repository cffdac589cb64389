"""An error in a command, also in its tasks, is one line and an exit code."""

import asyncio

import pytest
from groupflow.cli.command import FAILURE, REFUSED, CommandError, failing_with


async def in_tasks(error: Exception, depth: int) -> None:
    if depth == 0:
        raise error
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(in_tasks(error, depth - 1))


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_what_is_known_is_an_error_of_the_command(depth: int) -> None:
    with pytest.raises(CommandError, match=r"^no such file$") as caught, failing_with(OSError, code=REFUSED):
        asyncio.run(in_tasks(OSError("no such file"), depth))
    assert caught.value.code == REFUSED


def test_the_code_may_depend_on_the_error() -> None:
    codes: dict[type[Exception], int] = {LookupError: 7, ValueError: FAILURE}
    for kind, code in codes.items():
        with (
            pytest.raises(CommandError) as caught,
            failing_with(*codes, code=lambda error: codes[type(error)]),
        ):
            raise ExceptionGroup("", [kind("a")])
        assert caught.value.code == code


def test_anything_else_passes() -> None:
    with pytest.raises(TypeError), failing_with(ValueError):
        raise TypeError
    both = ExceptionGroup("", [ValueError("a"), TypeError("b")])
    with pytest.raises(ExceptionGroup) as caught, failing_with(ValueError):
        raise both
    assert caught.value is both
