// A stack of unions is empty each time that its declaration runs, and as an `out` argument (6.8 and 11.2).
// frame 1 00000000 01 02 a3 0b 0c => 2 a3000c00
#define OWN_PARSER
#include "start.p4"
header one_t { bit<8> value; }
header_union either_t { one_t one; four_t four; }

parser Single(packet_in packet, out either_t[1] found) {
    state start {
        packet.extract(found.next.one);
        transition accept;
    }
}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Single() single;
    either_t[1] found;
    state start {
        packet.extract(hdr.h);
        transition each;
    }
    state each {
        either_t[1] many;
        packet.extract(many.next.one);
        hdr.h.a = many[0].one.value;
        transition select(hdr.h.a) {
            0xa3: rest;
            default: each;
        }
    }
    state rest {
        single.apply(packet, found);
        single.apply(packet, found);
        hdr.h.c = found[0].one.value;
        transition accept;
    }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { std.egress_spec = 2; }
}
#include "rest.p4"
