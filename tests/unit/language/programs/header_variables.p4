// Headers without a value begin invalid each time that their declaration runs, and so do `out` parameters
// (6.8 and 11.2): elements of stacks and members of unions, too.
// frame 1 00000000 => 2 00000000
// frame 1 01000000 => 2 01000000
#include "start.p4"
header one_t { bit<8> value; }
header two_t { bit<16> value; }
header_union either_t { one_t one; two_t two; }

control Variables(inout bit<8> seen) {
    one_t alone;
    one_t[2] many;
    either_t either;
    tuple<one_t> inside;
    apply {
        if (alone.isValid() || many[1].isValid() || either.isValid()) {
            seen = 0xee;
        }
        one_t part = inside[0];
        if (part.isValid()) {
            seen = 0xdd;
        }
        alone.setValid();
        many[1].setValid();
        either.two.setValid();
        inside = { alone };
    }
}

control Out(out one_t[2] many, out either_t either, in bit<8> sets) {
    apply {
        if (sets == 1) {
            many[0].setValid();
            either.one.setValid();
        }
    }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Variables() variables;
    Out() outs;
    one_t[2] many;
    either_t either;

    action rounds() {
        for (bit<8> i = 0; i < hdr.h.a + 2; i = i + 1) {
            two_t own;
            if (own.isValid()) {
                hdr.h.d = 0xaa;
            }
            own.setValid();
        }
    }

    table loops { actions = { rounds; } default_action = rounds(); }

    apply {
        variables.apply(hdr.h.b);
        variables.apply(hdr.h.b);
        outs.apply(many, either, 1);
        outs.apply(many, either, 2);
        if (many[0].isValid() || either.isValid()) {
            hdr.h.c = 0xcc;
        }
        loops.apply();
        std.egress_spec = 2;
    }
}
#include "rest.p4"
