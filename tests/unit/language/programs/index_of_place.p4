// The index of a place is read before a later expression changes it (6.7, 6.8 and 8.1): the place is a struct
// in a header, bits of a field, a union of a stack.
// frame 1 00000000 aa 1122 3344 5566 77 => 2 00600100 aa 1122 0102 5566 77
#define OWN_HEADERS
#define OWN_PARSER
#include "start.p4"
struct pair_t { bit<8> x; bit<8> y; }
header one_t { bit<8> value; }
header pair_of_t { pair_t p; }
header_union either_t { one_t one; four_t four; }
struct headers_t { four_t h; one_t first; pair_of_t[3] s; either_t[2] u; }

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        packet.extract(hdr.first);
        packet.extract(hdr.s.next);
        packet.extract(hdr.s.next);
        packet.extract(hdr.s.next);
        packet.extract(hdr.u.next.one);
        transition accept;
    }
}

pair_t pair(inout bit<8> index) {
    index = 2;
    return { 1, 2 };
}

bit<8> before(in bit<8> value, inout bit<8> index) {
    index = 1;
    return value;
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        meta.x = 1;
        hdr.s[meta.x].p = pair(meta.x);
        meta.x = 2;
        hdr.h.b = before(hdr.s[meta.x].p.y[3:0] ++ 4w0, meta.x);
        meta.x = 0;
        hdr.h.c = before(hdr.u[meta.x].isValid() ? 8w1 : 2, meta.x);
        std.egress_spec = 2;
    }
}
#include "rest.p4"
