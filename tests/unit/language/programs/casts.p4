// Casts between widths, signs, bit<1> and bool (8.11).
// frame 1 80010000 => 2 ff010180
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        int<16> wide = (int<16>)(int<8>)hdr.h.a;
        bit<16> bits = (bit<16>)wide;
        bool flag = (bool)hdr.h.b[0:0];
        hdr.h.d = (bit<8>)(bits & 0xff);
        hdr.h.a = bits[15:8];
        hdr.h.c = 7w0 ++ (bit<1>)flag;
        std.egress_spec = 2;
    }
}
#include "rest.p4"
