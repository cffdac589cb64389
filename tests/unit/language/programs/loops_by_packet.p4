// Loops whose rounds the packet decides, outside of tables' actions: in a function, with `break`, `continue`,
// `exit` and `return`; and variables of loops that a call or another loop changes.
// frame 1 03000000 => 2 03060403
// frame 1 00000000 => 2 00000400
// frame 1 01000000 => 2 01010401
// frame 1 09000000 => 2 09630405
#include "start.p4"
bit<8> sum(in bit<8> n) {
    bit<8> sum = 0;
    for (bit<8> i = 0; i <= n; i = i + 1) {
        if (i == 6) {
            return 99;
        }
        if (sum == 255) {
            continue;
        }
        sum = sum + i;
    }
    return sum;
}
control Within(inout headers_t hdr) {
    bit<8> i;
    action skips() {
        i = i + 1;
    }
    apply {
        // The action changes the variable: four rounds.
        for (i = 0; i < 8; i = i + 1) {
            skips();
            hdr.h.c = hdr.h.c + 1;
        }
        for (bit<8> j = 0; j < hdr.h.a; j = j + 1) {
            hdr.h.d = hdr.h.d + 1;
            if (hdr.h.d == 5) {
                exit;
            }
        }
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Within() within;
    apply {
        std.egress_spec = 2;
        hdr.h.b = sum(hdr.h.a);
        within.apply(hdr);
    }
}
#include "rest.p4"
