// A parser is a part of another, with its own parameters and constructor parameters (13.10, 15).
// frame 1 01020304 0a0b0c0d => 2 01020304 0a0b0c0d
// frame 1 01020304 090b0c0d => 3 01020304 090b0c0d
#define OWN_HEADERS
#define OWN_PARSER
#include "start.p4"
struct headers_t { four_t h; four_t next; }
parser Four(packet_in packet, out four_t four, out bit<8> first)(bit<8> plus) {
    state start {
        packet.extract(four);
        first = four.a + plus;
        transition accept;
    }
}
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Four(1) one;
    Four(8w0xf6) other;
    state start {
        one.apply(packet, hdr.h, meta.x);
        transition select(meta.x) {
            2: next;
            default: accept;
        }
    }
    state next {
        other.apply(packet, hdr.next, meta.y);
        transition accept;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = meta.y == 0 ? 9w2 : 3;
    }
}
#include "rest.p4"
