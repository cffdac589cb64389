// Bits that are assigned make a signed number negative by its first one (8.7 and 12.1).
// frame 1 05f00000 => 2 f5f00100
// frame 1 f5000000 => 2 05000000
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        int<8> value = (int<8>)hdr.h.a;
        value[7:4] = hdr.h.b[7:4];
        if (value < 0) {
            hdr.h.c = 1;
        }
        hdr.h.a = (bit<8>)value;
        std.egress_spec = 2;
    }
}
#include "rest.p4"
