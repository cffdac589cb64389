// The order of bit<8> and of int<8> differ (8.5 to 8.7).
// frame 1 80010000 => 2 01000103
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        bit<8> a = hdr.h.a;
        bit<8> b = hdr.h.b;
        hdr.h.a = a > b ? 8w1 : 0;
        hdr.h.b = (int<8>)a > (int<8>)b ? 8w1 : 0;
        if (a > b || a == 0) {
            hdr.h.c = 1;
        }
        if (a >= 0x80 && !(b != 1)) {
            hdr.h.d = hdr.h.d | 1;
        }
        if (a <= 0x80 == (b < 2)) {
            hdr.h.d = hdr.h.d | 2;
        }
        std.egress_spec = 2;
    }
}
#include "rest.p4"
