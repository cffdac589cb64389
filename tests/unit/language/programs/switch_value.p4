// A switch on a value: labels that fall through to the next body, and default (12.7.2).
// frame 1 01000000 => 2 010a0000
// frame 1 02000000 => 2 020a0000
// frame 1 03000000 => 2 03140000
// frame 1 04000000 => 2 041e0000
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        switch (hdr.h.a) {
            1:
            2: { hdr.h.b = 10; }
            3: { hdr.h.b = 20; }
            default: { hdr.h.b = 30; }
        }
        std.egress_spec = 2;
    }
}
#include "rest.p4"
