// A stack grows by `next`, and moves by push_front and pop_front (8.18, 13.9).
// frame 1 0181 0201 0300 0400 => 2 09810201 0300 0400
// frame 1 0101 0300 => 2 0981 0300
#define OWN_HEADERS
#define OWN_PARSER
#include "start.p4"
header two_t { bit<8> value; bit<1> more; bit<7> rest; }
struct headers_t { two_t[3] s; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.s.next);
        meta.x = (bit<8>)hdr.s.lastIndex;
        transition select(hdr.s.last.more) {
            1: start;
            default: accept;
        }
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (meta.x == 1) {
            hdr.s.pop_front(1);
            hdr.s.push_front(1);
            hdr.s[0] = { 9, 1, 1 };
        } else {
            hdr.s.pop_front(1);
            hdr.s.push_front(1);
            hdr.s[0].setValid();
            hdr.s[0] = { 9, 1, 1 };
        }
        std.egress_spec = 2;
    }
}
#include "rest.p4"
