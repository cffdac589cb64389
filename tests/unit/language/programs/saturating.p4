// Saturating differences stop at 0; those of int<8> at -128 and 127 (8.6, 8.7).
// frame 1 0205 7f80 => 2 00037f80
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        bit<8> a = hdr.h.a;
        hdr.h.a = a |-| hdr.h.b;
        hdr.h.b = hdr.h.b |-| a;
        int<8> c = (int<8>)hdr.h.c;
        int<8> d = (int<8>)hdr.h.d;
        hdr.h.c = (bit<8>)(c |+| 1);
        hdr.h.d = (bit<8>)(d |-| 1);
        std.egress_spec = 2;
    }
}
#include "rest.p4"
