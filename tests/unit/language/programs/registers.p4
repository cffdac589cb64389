// A register keeps its cells from packet to packet (v1model).
// frame 1 01000000 => 2 01010000
// frame 1 01000000 => 2 01020000
// frame 1 02000000 => 2 02010000
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<8>>(4) seen;
    apply {
        bit<8> count;
        seen.read(count, (bit<32>)hdr.h.a);
        count = count + 1;
        seen.write((bit<32>)hdr.h.a, count);
        hdr.h.b = count;
        std.egress_spec = 2;
    }
}
#include "rest.p4"
