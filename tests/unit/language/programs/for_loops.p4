// Loops with a condition, with break and continue (12.8).
// frame 1 04000000 => 2 04060d00
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        bit<8> sum = 0;
        for (bit<8> i = 0; i < 4; i = i + 1) {
            sum = sum + i;
        }
        hdr.h.b = sum;
        for (bit<8> k = 1, bit<8> step = 2; k < 20; k = k + step) {
            if (k == 3) {
                continue;
            }
            if (k == 9) {
                break;
            }
            hdr.h.c = hdr.h.c + k;
        }
        std.egress_spec = 2;
    }
}
#include "rest.p4"
