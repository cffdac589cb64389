// Sums wrap, saturating ones stop at the bounds; slices and concatenation (8.6, 8.9.1).
// frame 1 ff020305 => 2 01fdf1ff
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        bit<8> a = hdr.h.a;
        bit<8> b = hdr.h.b;
        hdr.h.a = a + b;
        hdr.h.b = a - b;
        hdr.h.c = a[3:0] ++ (bit<4>)(b * 8w8 + 1);
        hdr.h.d = a |+| hdr.h.d;
        std.egress_spec = 2;
    }
}
#include "rest.p4"
