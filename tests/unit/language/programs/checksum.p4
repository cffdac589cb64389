// The deparser's side computes csum16, the parser's side checks it (v1model).
// frame 1 0001 0002 fffc => 2 0101 0002 fefc
// frame 1 0001 0002 fffd => 3 0001 0002 fffc
#define OWN_HEADERS
#define OWN_PARSER
#define OWN_CHECKSUMS
#include "start.p4"
header sum_t { bit<16> a; bit<16> b; bit<16> sum; }
struct headers_t { sum_t h; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        transition accept;
    }
}
control V(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.h.isValid(), { hdr.h.a, 16w0, hdr.h.b }, hdr.h.sum, HashAlgorithm.csum16);
    }
}
control C(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.h.isValid(), { hdr.h.a, 16w0, hdr.h.b }, hdr.h.sum, HashAlgorithm.csum16);
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.checksum_error == 1) {
            std.egress_spec = 3;
        } else {
            hdr.h.a = hdr.h.a + 0x100;
            std.egress_spec = 2;
        }
    }
}
#include "rest.p4"
