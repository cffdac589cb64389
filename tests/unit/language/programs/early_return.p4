// return ends a control from inside of blocks; statements behind it do not run (12.4).
// frame 1 01000000 => 2 01010000
// frame 1 02000000 => 2 02010100
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.h.b = 1;
        if (hdr.h.a == 1) {
            {
                return;
            }
        }
        hdr.h.c = 1;
    }
}
#include "rest.p4"
