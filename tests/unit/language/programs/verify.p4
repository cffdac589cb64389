// verify ends the parser with an error of the program, core.p4's ones come from the packet (13.7, 7.1.2).
// frame 1 01020304 => 2 01020304
// frame 1 00020304 => 3 00020304
#define OWN_PARSER
#include "start.p4"
error { IsZero }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        verify(hdr.h.a != 0, error.IsZero);
        meta.x = 1;
        transition accept;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.parser_error == error.IsZero && meta.x == 0) {
            std.egress_spec = 3;
        } else {
            std.egress_spec = 2;
        }
    }
}
#include "rest.p4"
