// A digest has the values of its call, whatever the program writes later (6.8).
// frame 1 01000000 a0a1a2 => 2 00060000 a0a107
#define OWN_HEADERS
#define OWN_PARSER
#include "start.p4"
header one_t { bit<8> value; }
struct headers_t { four_t h; one_t[3] s; }
struct seen_t { bit<8> a; bit<8> s; bit<1> valid; bit<8> sum; bit<8> number; }

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        packet.extract(hdr.s.next);
        packet.extract(hdr.s.next);
        packet.extract(hdr.s.next);
        transition accept;
    }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        meta.x = 5;
        digest<seen_t>(1, { hdr.h.a, hdr.s[hdr.h.a + 1].value, (bit<1>) hdr.s[0].isValid(), meta.x + 1, 9 });
        hdr.s[hdr.h.a + 1].value = 7;
        meta.x = 6;
        hdr.h.a = 0;
        hdr.h.b = meta.x;
        std.egress_spec = 2;
    }
}
#include "rest.p4"
