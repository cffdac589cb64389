"""Policies of one's own, out of Python files that the operator names (docs/how-to/policy.md)."""

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from groupflow.control.gather.model import Client, Limits, Policy, Reading, checked
from groupflow.control.gather.policies import POLICIES, Policies
from groupflow.errors import InvalidError, reason

_TRIAL = Limits(100_000)
_CLIENTS = (Client("a", 10**6, 1), Client("b", 10**6, 0, 10**5))
_READINGS = {each.name: Reading(5e5, 0.1, 20_000, 1) for each in _CLIENTS}


def load_policies(files: Iterable[Path]) -> Policies:
    """The built-in policies, and those of the files. Runs the files. Raises InvalidError."""
    policies = dict(POLICIES)
    for file in files:
        for name, policy in _found(file).items():
            if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_-]{0,31}", name):
                rule = "write a-z, 0-9, _ and -, a letter first"
                raise InvalidError(f"{file}: POLICIES: {name!r} is no name; {rule}")
            if name in policies:
                raise InvalidError(f"{file}: POLICIES: {name!r} is there already; choose another name")
            try:
                _try(policy)
            except Exception as error:  # noqa: BLE001 (anybody's code)
                raise InvalidError(f"{file}: POLICIES[{name!r}]: {_one_line(error)}") from None
            policies[name] = cast(Policy[Any], policy)
    return policies


def _found(file: Path) -> Mapping[object, object]:
    module = ModuleType(f"groupflow_policy_{file.stem}")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module  # where dataclasses look for their module
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InvalidError(f"{file}: {reason(error)}; name a Python file with policies") from None
    try:
        exec(compile(text, str(file), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (anybody's code)
        raise InvalidError(f"{file}: {_one_line(error)}; write a Python file with POLICIES") from None
    found = getattr(module, "POLICIES", None)
    if not isinstance(found, Mapping) or not found:
        raise InvalidError(f'{file}: no POLICIES; write POLICIES = {{"mine": MyPolicy()}}')
    return cast(Mapping[object, object], found)


def _try(policy: Any) -> None:
    """Two rounds of a policy, so that a mistake is told now and not once clients send."""
    state = None
    for clients, readings in (((), {}), (_CLIENTS, _READINGS)):
        state, settings = policy.tune(state, clients, readings, _TRIAL)
        checked(settings, readings, _TRIAL)


def _one_line(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}"
    return f"{type(error).__name__}: {error}".partition("\n")[0]
