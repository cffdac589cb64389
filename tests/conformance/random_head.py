"""The declarations at the head of each random program, and the names in them."""

from __future__ import annotations

SIGNED = (4, 8, 16)
TYPES = ("bool", "kind_t", *(f"int<{width}>" for width in SIGNED))
"""the types but bit<N>"""


def mangled(kind: str) -> str:
    return kind.replace("<", "").rstrip(">")


EACH = """\
OF pick_NAME(in bool first, in OF one, in OF other) { if (first) { return one; } return other; }
void swap_NAME(inout OF one, inout OF other) { OF kept = one; one = other; other = kept; }
OF first_NAME(in tuple<OF, bool> both) { return both[0]; }
"""
"""functions for each type: p4c loses generic ones that functions and actions call"""
OTHERS = """\
enum bit<8> kind_t { A = 0, B = 1, C = 3, D = 255 }
bit<8> sum(in bit<8> a, in bit<8> b = 3, in bit<8> c = 8w5) { return a + (b << 1) + (c << 2); }
bit<8> step(inout bit<8> a, in bit<8> by = 1) { bit<8> old = a; a = a + by; return old; }
struct two_t { bit<8> x; bit<8> y; }
bit<8> less(in two_t both) { return both.x - (both.y << 1); }
"""
KINDS = OTHERS + "".join(
    EACH.replace("NAME", mangled(kind)).replace("OF", kind)
    for kind in ("bool", *(f"int<{width}>" for width in SIGNED), *(f"bit<{width}>" for width in range(1, 33)))
)
"""declarations that each program has"""
HEAD = f"""\
#include <core.p4>
#include <v1model.p4>
{KINDS}struct pair_t {{ bit<8> x; bit<16> y; }}
struct outer_t {{ pair_t p; bit<4> z; }}
header base_t {{
    bit<8> a; bit<8> b; bit<16> c; bit<32> d; bit<4> e; bit<4> f; bit<8> g; bit<9> h; bit<7> i; pair_t p;
}}
header item_t {{ bit<8> a; bit<16> c; pair_t p; }}
header part_t {{ bit<8> x; bit<8> y; }}
header list_t {{ bit<8> size; varbit<24> rest; }}
error {{ Odd, Even }}
header extra_t {{ bit<8> a; bit<16> c; }}
struct headers_t {{ base_t b; base_t o; item_t[4] s; extra_t v; extra_t r; part_t[8] q; list_t n; }}
struct meta_t {{
    bit<8> a; bit<8> b; bit<16> c; bit<32> d; bit<4> e; bit<9> h; bit<1> k; bit<1> l;
    outer_t o; outer_t q; pair_t p; item_t t; bool f; kind_t n; int<4> u; int<8> v; int<16> w;
}}
"""
TOLD = (
    "hdr.r.setValid(); hdr.r.a = meta.a ^ meta.b ^ meta.p.x ^ meta.q.p.x; hdr.r.c = meta.c ^ meta.q.p.y;",
    "hdr.b.a = hdr.b.a ^ meta.o.p.x; hdr.b.d = hdr.b.d ^ meta.d; hdr.b.e = hdr.b.e ^ meta.o.z;",
    "hdr.b.h = hdr.b.h ^ meta.h; hdr.b.c = hdr.b.c ^ meta.o.p.y ^ meta.t.c ^ meta.p.y;",
    "hdr.b.f = hdr.b.f ^ meta.e ^ meta.q.z; hdr.b.g = hdr.b.g ^ meta.t.a ^ meta.t.p.x;",
    "hdr.b.i = hdr.b.i ^ (6w0 ++ meta.k) ^ (5w0 ++ meta.l ++ 1w0) ^ (4w0 ++ (bit<1>)meta.f ++ 2w0);",
    "hdr.b.b = hdr.b.b ^ (bit<8>)meta.n ^ (bit<8>)meta.v; hdr.o.c = hdr.o.c ^ (bit<16>)meta.w;",
    "hdr.o.e = hdr.o.e ^ (bit<4>)meta.u;",
    "if (standard.parser_error == error.Odd) { hdr.o.g = hdr.o.g ^ 1; }",
    "if (standard.parser_error != error.NoError) { hdr.o.g = hdr.o.g ^ 2; }",
    "if (standard.parser_error == error.NoMatch) { hdr.o.g = hdr.o.g ^ 4; }",
)
"""what a packet tells of the metadata when it leaves"""
FIELDS = {"a": 8, "b": 8, "c": 16, "d": 32, "e": 4, "f": 4, "g": 8, "h": 9, "p.x": 8, "p.y": 16}
META = {"a": 8, "b": 8, "c": 16, "d": 32, "e": 4, "h": 9, "k": 1, "l": 1, "p.x": 8, "p.y": 16}
OUTER = {"p.x": 8, "p.y": 16, "z": 4}
META_KINDS = {"bool": "f", "kind_t": "n", "int<4>": "u", "int<8>": "v", "int<16>": "w"}
ITEM = {"a": 8, "c": 16, "p.x": 8, "p.y": 16}
