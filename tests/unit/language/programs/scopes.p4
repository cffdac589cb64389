// A name means what was declared before it (6.10): values, actions and instances before a variable that hides
// a parameter see the parameter, each time that the control is applied.
// frame 1 01020304 => 2 08070304
// frame 1 10200000 => 2 11250304
#include "start.p4"
control CountsType(inout bit<8> x);
control Counts(inout bit<8> x) {
    register<bit<8>>(1) seen;
    apply {
        bit<8> before;
        seen.read(before, 0);
        seen.write(0, before + x);
        x = x + before;
    }
}
control Applies(inout bit<8> x)(CountsType counts) {
    apply { counts.apply(x); }
}
control K(inout bit<8> x, in bit<8> q) {
    bit<8> p = q;
    action adds() { x = x + q; }
    bit<8> q = q + 1;
    apply {
        adds();
        { bit<8> p = p + q; q = p; }
        x = x + q - p;
        p = 77;
        q = 88;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    K() k;
    // Each has a register of its own.
    Applies(Counts()) first;
    Applies(Counts()) second;
    apply {
        k.apply(hdr.h.a, hdr.h.c);
        k.apply(hdr.h.b, 2);
        first.apply(hdr.h.c);
        second.apply(hdr.h.d);
        std.egress_spec = 2;
    }
}
#include "rest.p4"
