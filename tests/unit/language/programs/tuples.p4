// Tuples have fields by number, and are compared as a whole (8.12).
// frame 1 01020000 => 2 02010001
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        tuple<bit<8>, bit<8>> pair = { hdr.h.a, hdr.h.b };
        tuple<bit<8>, bit<8>> same = { 1, 2 };
        hdr.h.d = pair == same ? 8w1 : 0;
        hdr.h.a = pair[1];
        hdr.h.b = pair[0];
        std.egress_spec = 2;
    }
}
#include "rest.p4"
