// A function returns from its middle; out and inout arguments are copied back when it ends (10, 6.7).
// frame 1 05000000 => 2 06010500
// frame 1 0f000000 => 2 10ff0f00
#include "start.p4"
bit<8> kind(in bit<8> value) {
    if (value > 10) {
        return 0xff;
    }
    return 1;
}
void grow(inout bit<8> value, out bit<8> before) {
    before = value;
    value = value + 1;
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.h.b = kind(hdr.h.a);
        grow(hdr.h.a, hdr.h.c);
        std.egress_spec = 2;
    }
}
#include "rest.p4"
