"""Random P4 programs, full of effects on one another's operands: statements and declarations."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from tests.conformance.random_head import FIELDS, HEAD, ITEM, META, META_KINDS, OUTER, TOLD, TYPES
from tests.conformance.random_parser import Parsers
from tests.conformance.random_values import WIDTHS, Function, Parameters, copied


@dataclass
class Writer(Parsers):
    """Writes one program."""

    def assign(self) -> None:
        place = self.chance.choice(WIDTHS)
        name = self.place(place)
        if name:
            self.put(f"{name} = {self.value(place, 3)};")

    def copy(self) -> None:
        of = self.chance.choice(list(self.structs))
        target = self.chance.choice(self.structs[of])
        kinds = [self.chance.choice(self.structs[of])]
        if of == "pair_t":
            kinds += ["{" + f"{self.value(8, 2)}, {self.value(16, 2)}" + "}"] * 2
            calls = [self.call(one, 2) for one in self.functions if one.result == -1]
            kinds += [call for call in calls if call] * 3
        elif of == "outer_t":
            pair = self.chance.choice(self.structs["pair_t"])
            kinds += ["{" + f"{pair}, {self.value(4, 2)}" + "}"]
        elif of == "item_t" and self.stack:
            kinds += [f"{self.stack}[{self.index(2)}]"]
            target = self.chance.choice([target, f"{self.stack}[{self.index(2)}]"])
        self.put(f"{target} = {self.chance.choice(kinds)};")

    def statement(self, depth: int) -> None:
        kinds: list[Callable[[], None]] = [self.assign] * 6
        if self.structs:
            kinds += [self.copy] * 2
        kinds += [self.declare, self.declare_typed, partial(self.do_call, self.functions)]
        kinds += [self.assign_kind] * 3
        if self.actions:
            kinds += [partial(self.do_call, self.actions)] * 2
        if self.controls:
            kinds.append(partial(self.do_call, self.controls, ".apply"))
        if depth > 0:
            kinds += [partial(self.branch, depth)] * 3
            if self.applies:
                kinds.append(partial(self.choose, depth))
            if self.tables:
                kinds += [partial(self.use_table, depth)] * 2
        if self.stack:
            kinds += [self.change_stack, self.change_extra]
        if self.registers:
            kinds += [self.use_register] * 2
        self.chance.choice(kinds)()

    def body(self, depth: int, most: int = 4) -> None:
        for _ in range(self.chance.randint(1, most)):
            self.statement(depth)

    def declare(self) -> None:
        width = self.chance.choice(WIDTHS)
        name = self.name("v")
        self.put(f"bit<{width}> {name} = {self.value(width, 2)};")
        self.variables[name] = self.places[name] = width

    def declare_typed(self) -> None:
        kind, name = self.chance.choice(TYPES), self.name("v")
        self.put(f"{kind} {name} = {self.of(kind, 2)};")
        self.known_typed(name, kind)

    def assign_kind(self) -> None:
        if line := self.assign_typed():
            self.put(line)

    def do_call(self, callees: list[Function], method: str = "") -> None:
        if callees:
            callee = self.chance.choice(callees)
            text = self.call(callee, 3)
            if "(" in text and text.startswith(callee.name + "("):
                self.put(text.replace("(", f"{method}(", 1) + ";")
                if callee.once:
                    callees.remove(callee)

    def branch(self, depth: int) -> None:
        with self.block(f"if ({self.truth(3)})"):
            self.body(depth - 1, 3)
        if self.one_in(2):
            with self.block("else"):
                self.body(depth - 1, 3)

    def choose(self, depth: int) -> None:
        width = self.chance.choice((4, 8))
        with self.block(f"switch ({self.value(width, 2)})"):
            for label in self.chance.sample(range(1 << 4), 3):
                with self.block(f"{width}w{label}:"):
                    self.body(depth - 1, 2)
            with self.block("default:"):
                self.body(depth - 1, 2)

    def use_table(self, depth: int) -> None:
        table = self.tables.pop()
        kind = self.chance.randrange(4)
        if kind == 3:
            with self.block(f"switch ({table}.apply().action_run)"):
                with self.block(f"{self.first_action[table]}:"):
                    self.body(depth - 1, 2)
                with self.block("default:"):
                    self.body(depth - 1, 2)
            return
        if kind == 0:
            self.put(f"{table}.apply();")
            return
        with self.block(f"if ({'!' if kind == 1 else ''}{table}.apply().hit)"):
            self.body(depth - 1, 2)

    def use_register(self) -> None:
        register = self.chance.choice(self.registers)
        if self.one_in(2):
            self.put(f"{register}.write((bit<32>){self.value(4, 3)}, {self.value(16, 3)});")
        elif place := self.chance.choice(
            [name for name, width in self.places.items() if width == 16] or [""]
        ):
            self.put(f"{register}.read({place}, (bit<32>){self.value(4, 3)});")

    def leave(self) -> None:
        """The end of a control, maybe."""
        with self.block(f"if ({self.truth(1)})"):
            self.put("return;" if self.one_in(2) else "exit;")

    def change_stack(self) -> None:
        change, new = self.chance.choice((("push_front(1)", 0), ("pop_front(1)", 3)))
        element = f"{self.stack}[{new}]"
        stack, self.stack = self.stack, ""  # the new element has no value to read
        value = f"{{{self.value(8, 1)}, {self.value(16, 1)}, {self.structs['pair_t'][0]}}}"
        self.stack = stack
        self.put(f"{self.stack}.{change}; {element}.setValid(); {element} = {value};")

    def change_extra(self) -> None:
        if self.one_in(2):
            self.put("hdr.v.setInvalid();")
        else:
            self.put(f"hdr.v.setValid(); hdr.v = {{{self.value(8, 1)}, {self.value(16, 1)}}};")

    # -- declarations

    def signature(self, directions: tuple[str, ...], structs: bool = True) -> tuple[Parameters, str]:
        parameters: Parameters = []
        texts: list[str] = []
        for _ in range(self.chance.randint(1, 3)):
            name, direction = self.name("p"), self.chance.choice(directions)
            of: int | str = self.chance.choice(WIDTHS)
            if structs and direction != "in" and self.one_in(4):
                of = self.chance.choice(("pair_t", "item_t"))
                direction = "inout"
            elif structs and self.one_in(4):
                of = self.chance.choice(TYPES)
            parameters.append((name, direction, of))
            written = of if isinstance(of, str) else f"bit<{of}>"
            texts.append(f"{direction} {written} {name}")
        return parameters, ", ".join(texts)

    @contextmanager
    def inside(self, parameters: Parameters, *, outer: bool) -> Generator[None]:
        """The names of a callee's body."""
        known = self.variables, self.places, self.structs, self.stack, self.tables, self.controls
        registers = self.registers
        typed = self.typed, self.typed_places
        self.tables, self.controls = [], []
        if outer:
            self.variables, self.places = dict(self.variables), dict(self.places)
            self.structs = copied(self.structs)
            self.typed, self.typed_places = copied(self.typed), copied(self.typed_places)
        else:
            self.variables, self.places, self.structs, self.stack, self.registers = {}, {}, {}, "", []
            self.typed, self.typed_places = {}, {}
        for name, direction, of in parameters:
            if of in TYPES:
                self.known_typed(name, str(of), writes=direction != "in")
            elif isinstance(of, str):
                self.known(name, {"pair_t": {"x": 8, "y": 16}, "item_t": ITEM}[of])
                self.structs.setdefault(of, []).append(name)
            else:
                self.variables[name] = of
                if direction in ("out", "inout"):
                    self.places[name] = of
        yield
        self.variables, self.places, self.structs, self.stack, self.tables, self.controls = known
        self.registers = registers
        self.typed, self.typed_places = typed

    def begin(self, parameters: Parameters) -> str:
        """The first values of results."""
        results = [(name, of) for name, direction, of in parameters if direction == "out"]
        values = {
            name: self.of(of, 0) if isinstance(of, str) else f"{of}w{self.chance.randrange(2)}"
            for name, of in results
        }
        return " ".join(f"{name} = {value};" for name, value in values.items())

    def returned(self, result: int) -> str:
        if result < 0:
            return f"{{{self.value(8, 2)}, {self.value(16, 2)}}}"
        return self.value(result, 2) if result else ""

    def function(self) -> None:
        parameters, text = self.signature(("in", "inout", "inout", "out"))
        result = self.chance.choice((*WIDTHS, 2, 0, -1))
        name = self.name("f")
        with self.inside(parameters, outer=False):
            of = {0: "void", -1: "pair_t"}.get(result, f"bit<{result}>")
            head = f"{of} {name}({text})"
            with self.block(head, self.begin(parameters)):
                self.body(2, 3)
                if self.one_in(2):
                    with self.block(f"if ({self.truth(1)})"):
                        self.put(f"return {self.returned(result)};".replace(" ;", ";"))
                self.body(1, 2)
                if result:
                    self.put(f"return {self.returned(result)};")
        self.functions.append(Function(name, parameters, result))

    def action(self, *, outer: bool) -> None:
        parameters, text = self.signature(("in", "inout", "out"))
        name = self.name("act")
        with (
            self.inside(parameters, outer=outer),
            self.block(f"action {name}({text})", self.begin(parameters)),
        ):
            self.body(1, 3)
            if self.one_in(3):
                with self.block(f"if ({self.truth(1)})"):
                    self.put("return;")
                self.body(0, 2)
        self.actions.append(Function(name, parameters))

    def table(self) -> None:
        names: list[str] = []
        for _ in range(2):
            name, data = self.name("do"), self.name("p")
            with self.inside([(data, "", 8)], outer=True), self.block(f"action {name}(bit<8> {data})"):
                self.body(1, 3)
            names.append(name)
        table = self.name("t")
        with self.block(f"table {table}"):
            self.put(
                f'key = {{ {self.value(8, 2)} : exact @name("k"); {self.value(4, 2)} : ternary @name("m"); }}'
            )
            self.put(f"actions = {{ {names[0]}; {names[1]}; }}")
            self.put(f"const default_action = {names[0]}({self.chance.randrange(256)});")
            with self.block("const entries ="):
                for number in range(4):
                    low = self.chance.choice(("_", "1", "0 &&& 1"))
                    self.put(
                        f"({number}, {low}) : {self.chance.choice(names)}({self.chance.randrange(256)});"
                    )
        self.tables.append(table)
        self.first_action[table] = names[0]

    def inner_control(self) -> None:
        parameters, text = self.signature(("in", "inout", "out"))
        name = self.name("Inner")
        known = self.actions, self.tables, self.controls
        self.actions, self.tables, self.controls = list(self.actions), [], []
        with self.inside(parameters, outer=False), self.block(f"control {name}({text})"):
            self.put(f"bit<8> own = 8w{self.chance.randrange(256)};")
            self.variables["own"] = self.places["own"] = 8
            self.action(outer=True)
            once = self.one_in(2)
            if once:
                self.table()
            self.applies = True
            with self.block("apply", self.begin(parameters)):
                self.body(2, 4)
            self.applies = False
        self.actions, self.tables, self.controls = known
        self.controls.append(Function(name, parameters, once=once))

    def reach(self) -> None:
        """The names of the pipeline's controls."""
        for header in ("b", "o"):
            self.known(f"hdr.{header}", FIELDS)
        self.known("meta", META)
        for each in ("o", "q"):
            self.known(f"meta.{each}", OUTER)
        self.known("meta.t", ITEM)
        for kind, each in META_KINDS.items():
            self.known_typed(f"meta.{each}", kind)
        self.structs = {
            "pair_t": ["meta.p", "hdr.b.p", "meta.o.p", "hdr.o.p", "meta.t.p", "hdr.s[1].p"],
            "outer_t": ["meta.o", "meta.q"],
            "item_t": ["meta.t", "hdr.s[2]", "hdr.s[0]"],
        }
        self.stack = "hdr.s"

    def pipeline(self, name: str, types: list[Function]) -> None:
        signature = "inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard"
        known = self.actions, self.tables
        self.actions, self.tables = list(self.actions), []
        with self.inside([], outer=False), self.block(f"control {name}({signature})"):
            self.reach()
            self.controls = []
            for one in types:
                for _ in range(self.chance.randint(1, 2)):
                    instance = self.name("inner")
                    self.put(f"{one.name}() {instance};")
                    self.controls.append(Function(instance, one.parameters, once=one.once))
            self.registers = [self.name("reg")]
            self.put(f"register<bit<16>>(16) {self.registers[0]};")
            self.put(f"bit<16> own = 16w{self.chance.randrange(256)};")
            self.variables["own"] = self.places["own"] = 16
            self.action(outer=True)
            self.table()
            self.applies = True
            with self.block("apply"):
                self.body(2, 3)
                if name == "First" and self.one_in(3):
                    self.put("standard.egress_spec = 2;")
                    self.leave()
                self.body(2, 3)
                self.put("meta.c = meta.c ^ own;")
                if name == "Second":
                    self.lines += [f"        {line}" for line in TOLD]
                else:
                    self.put("standard.egress_spec = 2;")
        self.applies = False
        self.actions, self.tables = known

    def program(self) -> str:
        self.lines = [HEAD]
        for _ in range(2):
            self.function()
        self.action(outer=False)
        self.inner_control()
        types = self.controls
        self.sub_parser()
        self.parser()
        self.pipeline("First", types)
        self.pipeline("Second", types)
        self.put("control Verify(inout headers_t hdr, inout meta_t meta) { apply {} }")
        self.put("control Update(inout headers_t hdr, inout meta_t meta) { apply {} }")
        self.put("control Deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }")
        self.put("V1Switch(Parse(), Verify(), First(), Second(), Update(), Deparse()) main;")
        return "\n".join(self.lines) + "\n"
