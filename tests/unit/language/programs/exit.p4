// exit ends the whole block, in an action too, and out arguments are copied back first (12.5, 12.4).
// frame 1 01000000 => 2 01010000
// frame 1 02000000 => 2 02010100
// frame 1 03000000 => 3 03000000
#include "start.p4"
control Inner(inout bit<8> value, out bit<8> done)(bit<8> last) {
    apply {
        done = 1;
        if (value == last) {
            exit;
        }
        value = 1;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Inner(1) inner;
    action leave() {
        std.egress_spec = 3;
        exit;
    }
    apply {
        if (hdr.h.a == 3) {
            leave();
            hdr.h.d = 9;
        }
        std.egress_spec = 2;
        bit<8> value = hdr.h.a;
        inner.apply(value, hdr.h.b);
        hdr.h.c = value;
    }
}
#include "rest.p4"
