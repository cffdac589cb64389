// A range of signed numbers goes from below 0 to above it (8.15.4, 13.6).
// frame 1 fd000000 => 2 fd000000
// frame 1 02000000 => 2 02000000
// frame 1 03000000 => 3 03000000
// frame 1 fc000000 => 3 fc000000
#define OWN_PARSER
#include "start.p4"
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        transition select((int<8>)hdr.h.a) {
            -8s3..8s2: near;
            default: accept;
        }
    }
    state near {
        meta.x = 1;
        transition accept;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = meta.x == 1 ? 9w2 : 3;
    }
}
#include "rest.p4"
