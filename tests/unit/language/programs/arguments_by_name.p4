// Arguments by name are evaluated, and copied back, in the order in which they are written (6.8). Primitives
// of the target and actions of tables get them by name, too.
// frame 1 00000000 => 2 01070711
#include "start.p4"
bit<8> less(in bit<8> one, in bit<8> other) { return one - other; }
bit<8> next(inout bit<8> x) { x = x + 1; return x; }
void both(out bit<8> one, out bit<8> other) { one = 1; other = 2; }
control Add(inout bit<8> one, in bit<8> other) { apply { one = one + other; } }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Add() add;
    register<bit<8>>(2) cells;
    action set(in bit<8> one, in bit<8> other, bit<8> data) { hdr.h.c = one; hdr.h.d = other + data; }
    table t {
        actions = { set(other = hdr.h.a, one = hdr.h.b); }
        const default_action = set(other = hdr.h.a, one = hdr.h.b, data = 16);
    }
    apply {
        meta.x = 0;
        hdr.h.a = less(other = next(meta.x), one = next(meta.x));
        both(other = hdr.h.b, one = hdr.h.b);
        add.apply(one = hdr.h.b, other = 4);
        add.apply(other = hdr.h.b, one = meta.x);
        cells.write(value = meta.x, index = 1);
        cells.read(index = 1, result = hdr.h.b);
        t.apply();
        std.egress_spec = 2;
    }
}
#include "rest.p4"
