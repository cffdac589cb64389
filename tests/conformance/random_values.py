"""Random values and places of P4 programs, by the names that a piece of code can use."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

WIDTHS = (1, 4, 8, 9, 16, 32)
ORDER = ("==", "!=", "<", ">", "<=", ">=")

Parameters: TypeAlias = list[tuple[str, str, int | str]]
"""names, directions, and widths; a name of a type for a struct"""


def copied(names: dict[str, list[str]]) -> dict[str, list[str]]:
    return {key: list(value) for key, value in names.items()}


@dataclass
class Function:
    """Code that can be called: a function (`result` is its width), an action, or a control's instance."""

    name: str
    parameters: Parameters
    result: int = 0
    once: bool = False
    """it has a table, which a packet may pass once"""


@dataclass
class Values:
    """Writes values by the names that are known where the text stands."""

    seed: int
    chance: random.Random = field(init=False)
    variables: dict[str, int] = field(default_factory=dict[str, int])
    """what can be read here, and its width"""
    places: dict[str, int] = field(default_factory=dict[str, int])
    """what can be written here"""
    structs: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """places of each struct and header type"""
    typed: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """what can be read here of each type but bit<N>"""
    typed_places: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    kinds: bool = True
    """whether other types than bit<N> are used here"""
    functions: list[Function] = field(default_factory=list[Function])
    actions: list[Function] = field(default_factory=list[Function])
    controls: list[Function] = field(default_factory=list[Function])
    first_action: dict[str, str] = field(default_factory=dict[str, str])
    """the first action of each table"""
    registers: list[str] = field(default_factory=list[str])
    tables: list[str] = field(default_factory=list[str])
    applies: bool = False
    """whether this is the body of a control: p4c takes `switch` only there"""
    stack: str = ""
    """a stack that can be reached here"""
    lines: list[str] = field(default_factory=list[str])
    number: int = 0
    indent: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def name(self, stem: str) -> str:
        self.number += 1
        return f"{stem}{self.number}"

    def put(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    @contextmanager
    def block(self, head: str, first: str = "") -> Generator[None]:
        """`first` is in the line of the head, so that nothing can leave it out alone."""
        self.put(f"{head} {{ {first}".rstrip())
        self.indent += 1
        known = dict(self.variables), dict(self.places), copied(self.structs)
        typed = copied(self.typed), copied(self.typed_places)
        yield
        self.variables, self.places, self.structs = known
        self.typed, self.typed_places = typed
        self.indent -= 1
        self.put("}")

    def known_typed(self, name: str, kind: str, *, writes: bool = True) -> None:
        self.typed.setdefault(kind, []).append(name)
        if writes:
            self.typed_places.setdefault(kind, []).append(name)

    def one_in(self, number: int) -> bool:
        return self.chance.randrange(number) == 0

    def known(self, prefix: str, fields: dict[str, int]) -> None:
        for each, width in fields.items():
            self.variables[f"{prefix}.{each}"] = width
            self.places[f"{prefix}.{each}"] = width

    def index(self, depth: int) -> str:
        return self.value(2, depth - 1) if self.one_in(3) else str(self.chance.randrange(4))

    def place(self, width: int, depth: int = 1) -> str:
        """A place of this width that can be written, a slice or an element of a stack among them."""
        found = [name for name, its in self.places.items() if its == width]
        wider = [name for name, its in self.places.items() if its > width]
        if self.stack and depth > 0 and width in (8, 16) and self.one_in(3):
            part = {8: ("a", "p.x"), 16: ("c", "p.y")}[width]
            return f"{self.stack}[{self.index(depth)}].{self.chance.choice(part)}"
        if wider and (not found or self.one_in(4)):
            name = self.chance.choice(wider)
            low = self.chance.randrange(self.places[name] - width + 1)
            return f"{name}[{low + width - 1}:{low}]"
        return self.chance.choice(found) if found else ""

    def value(self, width: int, depth: int) -> str:
        """An expression of type bit<width>."""
        chance = self.chance
        if depth <= 0:
            return self.simple(width)
        kinds: list[Callable[[], str]] = [
            lambda: self.simple(width),
            lambda: self.two(width, depth, ("+", "-", "&", "|", "^", "*")),
            lambda: self.two(width, depth, ("|+|", "|-|")),
            lambda: self.two(width, depth, ("<<", ">>"), right=4),
            lambda: f"({chance.choice('~-')}{self.value(width, depth - 1)})",
            lambda: f"({self.truth(depth - 1)} ? {self.two(width, depth, (':',))[1:]}",
            lambda: f"((bit<{width}>){self.value(chance.choice(WIDTHS), depth - 1)})",
            lambda: self.sliced(width, depth),
            lambda: self.joined(width, depth),
            lambda: self.signed(width, depth),
        ]
        callable_ = [one for one in self.functions if one.result == width]
        if callable_:
            kinds += [lambda: self.call(chance.choice(callable_), depth)] * 5
        if self.stack and width in (8, 16):
            kinds += [lambda: self.place(width, depth)] * 2
        kinds += self.more_values(width, depth)
        return chance.choice(kinds)()

    def typed_argument(self, kind: str, direction: str, depth: int) -> str:
        raise NotImplementedError

    def more_values(self, width: int, depth: int) -> list[Callable[[], str]]:
        raise NotImplementedError

    def more_truths(self, depth: int) -> list[Callable[[], str]]:
        raise NotImplementedError

    def two(self, width: int, depth: int, operators: Sequence[str], right: int = 0) -> str:
        """Two operands; the right one has other bits in a shift."""
        left, operator = self.value(width, depth - 1), self.chance.choice(operators)
        return f"({left} {operator} {self.value(right or width, depth - 1)})"

    def simple(self, width: int) -> str:
        found = [name for name, its in self.variables.items() if its == width]
        if not self.variables or self.one_in(5):
            return f"{width}w{self.chance.randrange(1 << min(width, 8))}"
        if not found:
            return f"((bit<{width}>){self.chance.choice(list(self.variables))})"
        return self.chance.choice(found)

    def sliced(self, width: int, depth: int) -> str:
        wider = [each for each in WIDTHS if each > width]
        if not wider:
            return self.simple(width)
        of = self.chance.choice(wider)
        low = self.chance.randrange(of - width + 1)
        value = self.value(of, depth - 1)
        return f"{value}[{low + width - 1}:{low}]"

    def joined(self, width: int, depth: int) -> str:
        if width < 2:
            return self.simple(width)
        high = self.chance.randrange(1, width)
        return f"({self.value(high, depth - 1)} ++ {self.value(width - high, depth - 1)})"

    def signed(self, width: int, depth: int) -> str:
        operation = self.chance.choice(("+", "-", "*", "|+|", "|-|"))
        left, right = self.value(width, depth - 1), self.value(width, depth - 1)
        if width == 1:
            return self.simple(width)
        return f"((bit<{width}>)((int<{width}>){left} {operation} (int<{width}>){right}))"

    def truth(self, depth: int) -> str:
        chance = self.chance
        width = chance.choice(WIDTHS)
        if depth <= 0:
            return self.two(width, 1, ORDER)
        kinds: list[Callable[[], str]] = [
            lambda: self.two(width, depth, ORDER),
            lambda: f"{self.truth(depth - 1)} && {self.truth(depth - 1)}",
            lambda: f"{self.truth(depth - 1)} || {self.truth(depth - 1)}",
            lambda: f"!({self.truth(depth - 1)})",
        ]
        if self.stack:
            kinds.append(lambda: "hdr.v.isValid()")
        kinds += self.more_truths(depth)
        return "(" + chance.choice(kinds)() + ")"

    def call(self, function: Function, depth: int) -> str:
        arguments: list[str] = []
        for _, direction, of in function.parameters:
            if (isinstance(of, str) and of.endswith("pair_t")) or of == "item_t":
                arguments.append(self.chance.choice(self.structs.get(str(of)) or [""]))
            elif isinstance(of, str):
                arguments.append(self.typed_argument(of, direction, depth - 1))
            elif direction in ("in", ""):
                arguments.append(self.value(of, depth - 1))
            else:
                arguments.append(self.place(of, depth - 1))
            if not arguments[-1]:
                return self.simple(function.result) if function.result > 0 else ""
        return f"{function.name}({', '.join(arguments)})"
