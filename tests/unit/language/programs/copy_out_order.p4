// Arguments are copied in before a call and out behind it, from left to right (6.7).
// frame 1 01020000 => 2 03020303
#include "start.p4"
bit<8> both(inout bit<8> one, inout bit<8> other) {
    one = one + 2;
    other = 3;
    return one;
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        bit<8> same = hdr.h.a;
        hdr.h.c = both(same, same);
        hdr.h.d = same;
        hdr.h.a = hdr.h.c;
        std.egress_spec = 2;
    }
}
#include "rest.p4"
