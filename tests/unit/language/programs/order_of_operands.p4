// Operands and arguments have the values that they have from left to right (8.1 and 6.8), also a union's
// validity, a stack's last index, and an element by an index that a later argument changes.
// frame 1 00000000112233 => 2 00010133112233
#define OWN_HEADERS
#define OWN_PARSER
#include "start.p4"
header one_t { bit<8> value; }
header_union either_t { one_t one; four_t four; }
struct headers_t { four_t h; one_t[3] many; either_t either; }

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        packet.extract(hdr.many.next);
        packet.extract(hdr.many.next);
        packet.extract(hdr.many.next);
        transition accept;
    }
}

bool invalid(inout either_t either) {
    either.one.setInvalid();
    return true;
}

bit<8> value_of(in one_t one, inout bit<8> index) {
    index = 0;
    return one.value;
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.either.one.setValid();
        if (hdr.either.isValid() == invalid(hdr.either)) {
            hdr.h.b = 1;
        }
        if (!hdr.either.isValid()) {
            hdr.h.c = 1;
        }
        meta.x = 2;
        hdr.h.d = value_of(hdr.many[meta.x], meta.x);
        std.egress_spec = 2;
    }
}
#include "rest.p4"
