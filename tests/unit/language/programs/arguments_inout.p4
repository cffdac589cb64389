// An argument for an `inout` parameter is copied in before the next argument has effects, and copied back at
// the end; the place of an `out` argument is known before (6.8).
// frame 1 05050001 => 2 06050901
#include "start.p4"
bit<8> first(inout bit<8> x, in bit<8> y) { x = x + y; return y; }
bit<8> change(inout bit<8> z) { z = 3; return 1; }
void put(out bit<8> x, in bit<8> y) { x = y + 8; }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action both(inout bit<8> x, in bit<8> y) { x = x + y - 1; }
    apply {
        first(hdr.h.a, change(hdr.h.a));
        both(hdr.h.b, change(hdr.h.b));
        put(hdr.h.c, change(hdr.h.c));
        std.egress_spec = 2;
    }
}
#include "rest.p4"
