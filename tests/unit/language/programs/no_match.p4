// A select without a case that matches, or without any, ends the parser with error.NoMatch (13.6). p4c lets
// it accept.
// frame 1 01000000 => 2 01000000
// frame 1 02000000 => 3 02000000
// frame 1 03000000 => 4 03000000
#define OWN_PARSER
#include "start.p4"
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.a) {
            1: known;
            3: empty;
        }
    }
    state known {
        meta.x = 1;
        transition accept;
    }
    state empty {
        meta.x = 2;
        transition select(hdr.h.b) { }
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (meta.x == 1) {
            std.egress_spec = 2;
        } else if (std.parser_error == error.NoMatch) {
            std.egress_spec = meta.x == 2 ? 9w4 : 3;
        }
    }
}
#include "rest.p4"
