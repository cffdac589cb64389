// Loops over the numbers of a range, with break and continue (12.8). p4c does not have them for BMv2.
// frame 1 04000000 => 2 04000c05
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        for (bit<8> i in 1..5) {
            if (i == 3) {
                continue;
            }
            hdr.h.c = hdr.h.c + i;
        }
        for (bit<8> i in 8w1..8w9) {
            if (i == 6) {
                break;
            }
            hdr.h.d = i;
        }
        std.egress_spec = 2;
    }
}
#include "rest.p4"
