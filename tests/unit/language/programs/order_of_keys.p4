// Keys of a table and of `select` have the values that they have from left to right (8.1, 13.6 and 14.2.1.1),
// also where a later one changes what an earlier one reads.
// insert order a=2 next=3 => found value=7
// frame 1 01000000 => 2 03070500
// frame 1 02000000 => 2 04000000
#define OWN_PARSER
#include "start.p4"

bit<8> next(inout bit<8> value) {
    value = value + 1;
    return value;
}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.a, next(hdr.h.a)) {
            (1, 2): found;
            default: accept;
        }
    }
    state found {
        hdr.h.c = 5;
        transition accept;
    }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action found(bit<8> value) { hdr.h.b = value; }
    table order {
        key = { hdr.h.a : exact @name("a"); next(hdr.h.a) : exact @name("next"); }
        actions = { found; NoAction; }
    }
    apply {
        order.apply();
        std.egress_spec = 2;
    }
}
#include "rest.p4"
