// A field of varying length is extracted by its number of bits (13.8.2).
// frame 1 02aabb01 => 2 02aabb01
// frame 1 05aabb01 => nothing
#define OWN_HEADERS
#define OWN_PARSER
#include "start.p4"
header options_t { bit<8> length; varbit<32> bytes; }
header tail_t { bit<8> one; }
struct headers_t { options_t options; tail_t tail; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        bit<8> length = packet.lookahead<bit<8>>();
        packet.extract(hdr.options, (bit<32>)length * 8);
        packet.extract(hdr.tail);
        transition accept;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.parser_error == error.NoError && hdr.tail.one == 1) {
            std.egress_spec = 2;
        } else {
            mark_to_drop(std);
        }
    }
}
#include "rest.p4"
