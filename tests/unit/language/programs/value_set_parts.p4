// A value set of several parts is matched by a key of as many (13.11).
// frame 1 01020000 => 3 01020000
// member pairs a=1 b=0x0200
// frame 1 01020000 => 2 01020000
// frame 1 01030000 => 3 01030000
#define OWN_PARSER
#include "start.p4"
struct pair_t { @match(exact) bit<8> a; @match(ternary) bit<16> b; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<pair_t>(4) pairs;
    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.a, hdr.h.b ++ hdr.h.c) {
            pairs: known;
            default: accept;
        }
    }
    state known {
        meta.x = 1;
        transition accept;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = meta.x == 1 ? 9w2 : 3;
    }
}
#include "rest.p4"
