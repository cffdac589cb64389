// Parameters with a direction come from the program, the others from the entry (14.1).
// insert add h.a=1 => plus value=7
// frame 1 01020000 => 2 01090200
// frame 1 05020000 => 2 05030200
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action plus(inout bit<8> place, out bit<8> before, bit<8> value) {
        before = place;
        place = place + value;
    }
    table add {
        key = { hdr.h.a: exact @name("h.a"); }
        actions = { plus(hdr.h.b, hdr.h.c); }
        default_action = plus(hdr.h.b, hdr.h.c, 1);
    }
    apply {
        add.apply();
        std.egress_spec = 2;
    }
}
#include "rest.p4"
