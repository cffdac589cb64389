// Assigned unions have all bytes of the other, also where the program reads no field of theirs (8.20). BMv2
// copies numbers, and has those of an earlier packet or none.
// frame 1 01 a0a1a2a3 => 2 01 a0a1a2a3 a0a1a2a3
// frame 1 02 02b0b1 => 2 02 02b0b1 02b0b1
// frame 1 01 c0c1c2c3 => 2 01 c0c1c2c3 c0c1c2c3
#define OWN_HEADERS
#define OWN_PARSER
#include "start.p4"
header one_t { bit<8> value; }
header list_t { bit<8> size; varbit<24> rest; }
header_union either_t { list_t list; four_t four; }
struct headers_t { one_t kind; either_t from; either_t to; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.kind);
        transition select(hdr.kind.value) {
            1: four;
            default: list;
        }
    }
    state four {
        packet.extract(hdr.from.four);
        transition accept;
    }
    state list {
        packet.extract(hdr.from.list, 16);
        transition accept;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.to = hdr.from;
        std.egress_spec = 2;
    }
}
#include "rest.p4"
