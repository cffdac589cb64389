// An assignment copies the validity; headers are equal if both are invalid, or all fields are (8.17).
// frame 1 01010000 aabbccdd => 2 aabbccdd aabbccdd
// frame 1 00010000 aabbccdd => 2 00010000
#define OWN_HEADERS
#define OWN_PARSER
#include "start.p4"
struct headers_t { four_t h; four_t next; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        packet.extract(hdr.next);
        transition accept;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    four_t none;
    apply {
        none.setInvalid();
        if (hdr.h.a == 1) {
            hdr.h = hdr.next;
        } else {
            hdr.next = none;
        }
        if (hdr.next == none || hdr.h == hdr.next) {
            std.egress_spec = 2;
        }
    }
}
#include "rest.p4"
