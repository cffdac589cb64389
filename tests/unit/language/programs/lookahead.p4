// lookahead reads without moving, advance moves without reading (13.8.3, 13.8.4).
// frame 1 01020304 0506 => 2 03040506
// frame 1 02020304 0506 => 3 02020304 0506
#define OWN_PARSER
#include "start.p4"
struct peek_t { bit<8> one; bit<16> two; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        bit<16> both = packet.lookahead<bit<16>>();
        meta.x = both[15:8];
        transition select(packet.lookahead<peek_t>().one) {
            1: skip;
            default: read;
        }
    }
    state skip {
        packet.advance(16);
        transition read;
    }
    state read {
        packet.extract(hdr.h);
        transition accept;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = (bit<9>)meta.x + 1;
    }
}
#include "rest.p4"
