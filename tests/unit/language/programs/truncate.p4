// truncate cuts the packet that leaves (v1model).
// frame 1 01020304 0102030405060708090a0b0c0d => 2 01020304 0102030405060708090a0b0c
#define OWN_EGRESS
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        truncate(16);
    }
}
#include "rest.p4"
