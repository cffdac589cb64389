// The right side of && and || runs only where it decides, with its effects (8.5).
// frame 1 00000000 => 2 00000001
// frame 1 01000000 => 2 01010001
#include "start.p4"
bit<8> touch(inout bit<8> place) {
    place = place + 1;
    return place;
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.h.a != 0 && touch(hdr.h.b) == 5) {
            hdr.h.c = 1;
        }
        if (hdr.h.a == 0 || hdr.h.a == 1 || touch(hdr.h.c) == 1) {
            hdr.h.d = 1;
        }
        std.egress_spec = 2;
    }
}
#include "rest.p4"
