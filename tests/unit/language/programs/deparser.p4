// A deparser chooses what it emits; headers that are not valid give nothing (16).
// frame 1 01020304 05060708 => 2 01020304 05060708
// frame 1 02020304 05060708 => 2 02020304
#define OWN_HEADERS
#define OWN_PARSER
#define OWN_DEPARSER
#include "start.p4"
struct headers_t { four_t h; four_t next; four_t none; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        packet.extract(hdr.next);
        transition accept;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        if (hdr.h.a == 2) {
            hdr.next.setInvalid();
        }
    }
}
control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.h);
        packet.emit(hdr.none);
        packet.emit(hdr.next);
    }
}
#include "rest.p4"
