// Headers of a union in a stack, at an index that the packet decides (8.18 and 8.20).
// frame 1 02010000 a0 b0b1b2b3 c0 => 2 c0c00701 09010203 b0b1c0b3 d0
// frame 1 00020000 a0 b0b1b2b3 c0 => 2 a0c00601 d0 b0b1a0b3 09010203
#define OWN_HEADERS
#define OWN_PARSER
#include "start.p4"
header one_t { bit<8> value; }
header_union either_t { one_t one; four_t four; }
struct headers_t { four_t h; either_t[3] u; }

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        packet.extract(hdr.u.next.one);
        packet.extract(hdr.u.next.four);
        packet.extract(hdr.u.next.one);
        meta.y = hdr.u.last.one.value;
        transition select(hdr.u.last.one.value) { 0xc0: accept; }
    }
}

void mark(inout either_t either) {
    either.one.value = 0xd0;
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action fill(bit<8> i) {
        hdr.u[2 - i].four.setValid();
        hdr.u[2 - i].four = { 9, 1, 2, 3 };
    }
    apply {
        bit<8> i = hdr.h.a;
        hdr.h.a = hdr.u[i].one.value;
        hdr.h.b = meta.y;
        hdr.u[meta.x + 1].four.c = hdr.u[i].one.value;
        if (hdr.u[i].one.isValid() && !hdr.u[i].four.isValid()) {
            hdr.h.c = hdr.u[i] == hdr.u[0] ? 8w6 : 7;
        }
        either_t copy = hdr.u[i];
        hdr.h.d = (bit<8>) (bit<1>) (copy.one == hdr.u[i].one);
        mark(hdr.u[i]);
        fill(i);
        std.egress_spec = 2;
    }
}
#include "rest.p4"
