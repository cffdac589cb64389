// The last element of a stack as a whole header, and as the number of bits to skip (8.18, 13.8.4).
// frame 1 0008 aabb => 2 aabb 0008 0008 bb
#define OWN_HEADERS
#define OWN_PARSER
#include "start.p4"
header two_t { bit<8> a; bit<8> bits; }
struct headers_t { two_t peeked; two_t copy; two_t[2] s; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.s.next);
        hdr.peeked = packet.lookahead<two_t>();
        hdr.copy = hdr.s.last;
        packet.advance((bit<32>)hdr.s.last.bits);
        transition accept;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
    }
}
#include "rest.p4"
