// The first case that matches is taken: masks, ranges, `_`, several keys (13.6).
// frame 1 f1000000 => 2 f1000000
// frame 1 05000000 => 3 05000000
// frame 1 07090000 => 4 07090000
// frame 1 070a0000 => 5 070a0000
#define OWN_PARSER
#include "start.p4"
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.a, hdr.h.b) {
            (0xf0 &&& 0xf0, _): two;
            (4..6, _): three;
            (7, 9): four;
            (7, 10): five;
        }
    }
    state two { meta.x = 2; transition accept; }
    state three { meta.x = 3; transition accept; }
    state four { meta.x = 4; transition accept; }
    state five { meta.x = 5; transition accept; }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = (bit<9>)meta.x;
    }
}
#include "rest.p4"
