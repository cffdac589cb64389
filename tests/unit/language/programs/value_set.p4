// A value set's members come from the control plane (13.11); without any, no packet is in it.
// frame 1 01000000 => 3 01000000
// member kinds 1
// frame 1 01000000 => 2 01000000
#define OWN_PARSER
#include "start.p4"
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<bit<8>>(4) kinds;
    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.a) {
            kinds: known;
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
