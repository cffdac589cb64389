// The variable of a loop is changed in its body (12.8): where the packet decides, so that the compiler does
// not know the rounds, or always.
// frame 1 02000000 => 2 02020102
// frame 1 00010000 => 2 000a0400
// frame 1 00000000 => 2 00090402
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action jumps() {
        for (bit<8> i = 0; i < 4; i = i + 1) {
            if (hdr.h.a == 2) {
                i = 3;
            }
            hdr.h.c = hdr.h.c + 1;
        }
    }
    action goes_on() {
        for (bit<8> i = 0; i < 4; i = i + 1) {
            if (hdr.h.b == 1) {
                continue;
            }
            i = i + 1;
            hdr.h.d = hdr.h.d + 1;
        }
    }
    table first { actions = { jumps; } default_action = jumps(); }
    table second { actions = { goes_on; } default_action = goes_on(); }
    apply {
        first.apply();
        second.apply();
        bit<8> outside;
        for (outside = 0; outside < 9; outside = outside + 1) {
            outside = outside + 2;
            if (hdr.h.a == 2) {
                break;
            }
        }
        hdr.h.b = hdr.h.b + outside;
        std.egress_spec = 2;
    }
}
#include "rest.p4"
