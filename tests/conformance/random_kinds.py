"""Random values of other types than bit<N>: signed numbers, truths, enums, tuples, generic functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.conformance.random_head import SIGNED, TYPES
from tests.conformance.random_values import ORDER, Values

ENUM = ("A", "B", "C", "D")
COMPOUND = ("+=", "-=", "&=", "|=", "^=", "*=", "|+|=", "|-|=")


class Kinds(Values):
    """Writes values of all types."""

    def of(self, kind: str, depth: int) -> str:
        if kind == "bool":
            return self.truth(depth)
        return self.member(depth) if kind == "kind_t" else self.integer(int(kind[4:-1]), depth)

    def pure(self, width: int, depth: int = 2) -> str:
        """A value without calls and conditions."""
        functions, kinds = self.functions, self.kinds
        self.functions, self.kinds = [], False
        while "?" in (text := self.value(width, depth)) or "&&" in text or "||" in text:
            pass
        self.functions, self.kinds = functions, kinds
        return text

    def typed_argument(self, kind: str, direction: str, depth: int) -> str:
        if direction in ("in", ""):
            return self.of(kind, depth)
        return self.chance.choice(self.typed_places.get(kind) or [""])

    def typed_name(self, kind: str) -> str:
        return self.chance.choice(self.typed.get(kind) or [""])

    def member(self, depth: int) -> str:
        """A value of the enum."""
        kinds = [self.typed_name("kind_t"), f"kind_t.{self.chance.choice(ENUM)}"]
        if depth > 0:
            kinds.append(f"((kind_t){self.value(8, depth - 1)})")
            kinds.append(f"({self.truth(depth - 1)} ? {self.member(depth - 1)} : {self.member(0)})")
        return self.chance.choice([kind for kind in kinds if kind])

    def integer(self, width: int, depth: int) -> str:
        """A value of type int<width>."""
        chance = self.chance
        kind = f"int<{width}>"
        if depth <= 0:
            known = self.typed_name(kind)
            literal = f"{width}s{chance.randrange(1 << (width - 1))}"
            return known if known and chance.random() < 0.7 else chance.choice((literal, f"(-{literal})"))
        less = depth - 1

        def two(operators: tuple[str, ...]) -> str:
            return f"({self.integer(width, less)} {chance.choice(operators)} {self.integer(width, less)})"

        kinds: list[Callable[[], str]] = [
            lambda: self.integer(width, 0),
            lambda: two(("+", "-", "*")),
            lambda: two(("&", "|", "^")),
            lambda: two(("|+|", "|-|")),
            lambda: f"({self.integer(width, less)} {chance.choice(('<<', '>>'))} {self.value(4, less)})",
            lambda: f"({chance.choice('~-')}{self.integer(width, less)})",
            lambda: f"(({kind}){self.value(width, less)})",
            lambda: f"(({kind}){self.integer(chance.choice(SIGNED), less)})",
            lambda: f"({self.truth(less)} ? {self.integer(width, less)} : {self.integer(width, less)})",
            lambda: self.picked(f"int{width}", partial(self.integer, width, less), less),
        ]
        if width == 16:
            kinds.append(lambda: f"({self.integer(8, less)} ++ {self.integer(8, less)})")
        return chance.choice(kinds)()

    def picked(self, name: str, make: Callable[[], str], depth: int) -> str:
        return f"pick_{name}({self.truth(depth)}, {make()}, {make()})"

    def more_values(self, width: int, depth: int) -> list[Callable[[], str]]:
        """Values of type bit<width> that are made of the other types."""
        chance, less = self.chance, depth - 1
        if not self.kinds:
            return []
        found: list[Callable[[], str]] = [
            lambda: self.picked(f"bit{width}", partial(self.value, width, less), less),
            lambda: f"first_bit{width}({{{self.value(width, less)}, {self.truth(less)}}})",
        ]
        if width in SIGNED:
            found += [lambda: f"((bit<{width}>){self.integer(width, depth)})"] * 3
        if width == 8:
            found.append(lambda: f"((bit<8>){self.member(less)})")
            found.append(lambda: self.sum(less))
            found.append(lambda: f"less({{{self.value(8, less)}, {self.value(8, less)}}})")
            found.append(lambda: f"less({{y = {self.value(8, less)}, x = {self.value(8, less)}}})")
            if self.place(8, 0):
                found.append(lambda: f"step({self.place(8, 1)}, {self.value(8, less)})")
                found.append(lambda: f"step(by = {self.value(8, less)}, a = {self.place(8, 1)})")
                found.append(lambda: f"step({self.place(8, 1)})")
        if width == 1:
            found.append(lambda: f"((bit<1>){self.truth(less)})")
        wider = [one for one in SIGNED if one >= width]
        if wider:
            of = chance.choice(wider)
            low = chance.randrange(of - width + 1)
            found.append(lambda: f"{self.integer(of, less)}[{low + width - 1}:{low}]")
        return found

    def sum(self, depth: int) -> str:
        """A call with arguments by name, in any order, some of them left out."""
        given = [f"a = {self.value(8, depth)}"]
        given += [f"{name} = {self.value(8, depth)}" for name in "bc" if self.one_in(2)]
        self.chance.shuffle(given)
        return f"sum({', '.join(given)})"

    def more_truths(self, depth: int) -> list[Callable[[], str]]:
        chance = self.chance
        if not self.kinds:
            return []
        found: list[Callable[[], str]] = [
            lambda: f"({self.member(depth)} {chance.choice(('==', '!='))} {self.member(depth)})",
            lambda: f"({self.truth(depth - 1)} {chance.choice(('==', '!='))} {self.truth(depth - 1)})",
            lambda: f"((bool){self.value(1, depth)})",
            lambda: self.ordered(depth),
            lambda: self.picked("bool", partial(self.truth, depth - 1), depth - 1),
        ]
        if self.typed.get("bool"):
            found += [lambda: self.typed_name("bool")] * 3
        for struct in ("pair_t", "item_t"):
            if len(self.structs.get(struct, [])) > 1:
                found.append(lambda struct=struct: self.same(struct))
        return found

    def ordered(self, depth: int) -> str:
        width = self.chance.choice(SIGNED)
        left, right = self.integer(width, depth), self.integer(width, depth)
        return f"({left} {self.chance.choice(ORDER)} {right})"

    def same(self, struct: str) -> str:
        left, right = self.chance.choice(self.structs[struct]), self.chance.choice(self.structs[struct])
        return f"({left} {self.chance.choice(('==', '!='))} {right})"

    # -- statements

    def assign_typed(self) -> str:
        """`place = value;` of one of the types, or an operation on a place."""
        kinds = [kind for kind in TYPES if self.typed_places.get(kind)]
        chance = self.chance
        if kinds and self.one_in(2):
            kind = chance.choice(kinds)
            place = chance.choice(self.typed_places[kind])
            if kind.startswith("int") and self.one_in(3):
                return f"{place} {chance.choice(COMPOUND)} {self.of(kind, 0)};"
            return f"{place} = {self.of(kind, 3)};"
        width = chance.choice((8, 16, 4, 32))
        one, other = self.place(width), self.place(width)
        if not one:
            return ""
        return chance.choice(
            (
                f"{one} {chance.choice(COMPOUND)} {self.pure(width)};",
                f"{one} {chance.choice(('<<=', '>>='))} {self.pure(4)};",
                f"swap_bit{width}({one}, {other});",
                f"swap_bit{width}(other = {one}, one = {other});",
            )
        )
