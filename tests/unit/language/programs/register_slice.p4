// A register is read into a slice, and the other bits stay (6.7, 8.6; v1model).
// frame 1 05070000 => 2 05570000
// frame 1 0a000000 => 2 0aa00000
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<4>>(2) seen;
    apply {
        seen.write(1, hdr.h.a[3:0]);
        seen.read(hdr.h.b[7:4], 1);
        std.egress_spec = 2;
    }
}
#include "rest.p4"
