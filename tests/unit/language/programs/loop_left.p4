// `break` leaves the inner loop before the variable of the outer one is changed: packets differ in it behind.
// frame 1 02000000 => 2 02030f03
// frame 1 01000000 => 2 01040003
// frame 1 05000000 => 2 05030403
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action inner() {
        for (bit<8> i = 0; i < 8; i = i + 1) {
            for (bit<8> j = 0; j < 2; j = j + 1) {
                i = i + 1;
                if (hdr.h.a == 1) {
                    break;
                }
            }
            hdr.h.b = hdr.h.b + 1;
        }
    }
    table t { actions = { inner; } default_action = inner(); }
    apply {
        std.egress_spec = 2;
        t.apply();
        // The loop's own variable is known behind its `break`.
        for (bit<8> i = 0; i < 8; i = i + 1) {
            if (hdr.h.a == i + 1) {
                break;
            }
            i = i + 1;
            hdr.h.c = hdr.h.c + i;
            if (hdr.h.c > 8) {
                hdr.h.c = hdr.h.c + 6;
                break;
            }
        }
        hdr.h.d = 3;
    }
}
#include "rest.p4"
