// A generic function is made for each type with which it is called (10, 8.20).
// frame 1 01020304 => 2 02010403
#include "start.p4"
void swap<T>(inout T one, inout T other) {
    T kept = one;
    one = other;
    other = kept;
}
struct pair_t { bit<4> high; bit<4> low; }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        swap(hdr.h.a, hdr.h.b);
        pair_t c = { hdr.h.c[7:4], hdr.h.c[3:0] };
        pair_t d = { high = hdr.h.d[7:4], low = hdr.h.d[3:0] };
        swap(c, d);
        hdr.h.c = c.high ++ c.low;
        hdr.h.d = d.high ++ d.low;
        std.egress_spec = 2;
    }
}
#include "rest.p4"
