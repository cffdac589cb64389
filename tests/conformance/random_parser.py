"""Random parsers: states that go on to later ones by what they read."""

from __future__ import annotations

from collections.abc import Callable

from tests.conformance.random_head import FIELDS, META
from tests.conformance.random_kinds import Kinds

STATES = 4


class Parsers(Kinds):
    """Writes a parser, and one that it applies."""

    def parser_statement(self) -> None:
        kinds: list[Callable[[], None]] = [self.parser_assign] * 5
        kinds += [
            lambda: self.put(f"verify({self.pure(8)} != {self.pure(8)}, error.{self.one('Odd', 'Even')});"),
            lambda: self.put(
                f"packet.advance({self.one('8', '16', f'(bit<32>)({self.pure(8, 1)} & 1) << 3')});"
            ),
            lambda: self.parser_look("bit<8>", ""),
            lambda: self.parser_look("part_t", ".y"),
            lambda: self.parser_look("bit<24>", "[15:8]"),
        ]
        self.chance.choice(kinds)()

    def one(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def parser_assign(self) -> None:
        width = self.chance.choice((8, 16, 32, 4))
        if name := self.place(width):
            self.put(f"{name} = {self.pure(width, 3)};")

    def parser_look(self, of: str, part: str) -> None:
        if name := self.place(8):
            self.put(f"{name} = packet.lookahead<{of}>(){part};")

    def sub_parser(self) -> None:
        """It ends well: p4c and groupflow differ in the results of one that fails."""
        with self.block(
            "parser Sub(packet_in packet, inout bit<8> one, out bit<8> other, inout part_t[8] parts)"
        ):
            self.put(f"bit<8> own = 8w{self.chance.randrange(256)};")
            for name in ("one", "own", "other"):
                self.variables[name] = self.places[name] = 8
            with self.block("state start", f"other = 8w{self.chance.randrange(4)};"):
                self.parser_assign()
                self.put("packet.extract(parts.next);")
                self.put("other = other ^ parts.last.x;")
                with self.block(f"transition select({self.pure(8)})"):
                    self.put(f"8w{self.chance.randrange(4)} &&& 8w{self.chance.randrange(4)}: more;")
                    self.put("default: accept;")
            with self.block("state more"):
                self.parser_assign()
                self.put("own = own + 1;")
                self.put("other = other + own; transition accept;")

    def keys(self, count: int) -> str:
        def key() -> str:
            low = self.chance.randrange(8)
            mask, high = self.chance.randrange(256), low + self.chance.randrange(9)
            return self.one(
                "_", str(low), f"{low} &&& {mask}", f"{low} .. {high}", str(self.chance.randrange(4))
            )

        return key() if count == 1 else f"({', '.join(key() for _ in range(count))})"

    def select(self, number: int) -> None:
        count = self.chance.randint(1, 3)
        later = [f"state{other}" for other in range(number + 1, STATES)] + ["accept"]
        with self.block(f"transition select({', '.join(self.pure(8) for _ in range(count))})"):
            for _ in range(self.chance.randint(1, 3)):
                self.put(f"{self.keys(count)}: {self.chance.choice(later)};")
            # p4c takes cases that all lead to `accept` for all that there are.
            self.put(f"default: {later[0]};")

    def parser_state(self, number: int) -> None:
        with self.block(f"state state{number}"):
            for _ in range(self.chance.randint(1, 3)):
                self.parser_statement()
            if number == 1 or self.one_in(3):
                self.put("packet.extract(hdr.q.next);")
                last = "hdr.q.last"
                self.put(f"meta.a = meta.a ^ {last}.x; hdr.b.c = hdr.b.c + (bit<16>){last}.y;")
                self.put("hdr.b.d = hdr.b.d ^ hdr.q.lastIndex;")
            if self.one_in(3):
                self.put(f"sub.apply(packet, {self.place(8, 0)}, {self.place(8, 0)}, hdr.q);")
            if number == STATES - 1:
                self.put(f"packet.extract(hdr.n, (bit<32>)({self.pure(8)} & 3) << 3);")
            self.select(number)

    def parser(self) -> None:
        with self.block(
            "parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, "
            "inout standard_metadata_t standard)"
        ):
            stack = "packet.extract(hdr.s.next); " * 4
            zero = " ".join(f"meta.{each} = 0;" for each in META if "." not in each)
            structs = "meta.o = {{0, 0}, 0}; meta.q = {{0, 0}, 0}; meta.p = {0, 0};"
            kinds = "meta.f = false; meta.n = kind_t.A; meta.u = 0; meta.v = 0; meta.w = 0;"
            item = "meta.t.setValid(); meta.t = {0, 0, {0, 0}};"
            headers = f"packet.extract(hdr.b); packet.extract(hdr.o); {stack}packet.extract(hdr.v);"
            self.put("Sub() sub;")
            self.put(f"bit<8> own = 8w{self.chance.randrange(256)};")
            with self.block("state start", f"{headers} {zero} {structs} {item} {kinds}"):
                self.put("transition state0;")
            self.variables["own"] = self.places["own"] = 8
            for header in ("b", "o"):
                self.known(f"hdr.{header}", FIELDS)
            self.known("meta", META)
            for number in range(STATES):
                self.parser_state(number)
