// States that lead back to themselves count with a variable of the parser (13.4, 13.9).
// frame 1 03 0a 0b 0c 0d => 2 03 0a 0b 0c 0d
#define OWN_HEADERS
#define OWN_PARSER
#include "start.p4"
header one_t { bit<8> value; }
struct headers_t { one_t count; one_t[4] values; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    bit<8> left;
    state start {
        packet.extract(hdr.count);
        left = hdr.count.value;
        transition more;
    }
    state more {
        transition select(left) {
            0: accept;
            _: read;
        }
    }
    state read {
        packet.extract(hdr.values.next);
        meta.x = meta.x + hdr.values.last.value;
        left = left - 1;
        transition more;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = meta.x == 0xa + 0xb + 0xc ? 9w2 : 3;
    }
}
#include "rest.p4"
