// Of a union one header is valid at most: extracting one makes the others invalid (8.19).
// frame 1 01020304 => 2 01020304
// frame 1 02020304 => 3 02020304
// frame 1 03020304 => 4 0302 00ff 0304
#define OWN_HEADERS
#define OWN_PARSER
#include "start.p4"
header kind_t { bit<8> kind; bit<8> b; }
header short_t { bit<16> value; }
header long_t { bit<32> value; }
header_union body_t { short_t s; long_t l; }
struct headers_t { kind_t kind; body_t body; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.kind);
        transition select(hdr.kind.kind) {
            1: short;
            3: none;
            default: long;
        }
    }
    state short { packet.extract(hdr.body.s); transition accept; }
    state long { packet.extract(hdr.body.l); transition accept; }
    state none { transition accept; }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.body.s.isValid()) {
            std.egress_spec = 2;
        } else if (hdr.body.l.isValid()) {
            std.egress_spec = 3;
        } else {
            hdr.body.s.setValid();
            hdr.body.s.value = 0xff;
            std.egress_spec = 4;
        }
    }
}
#include "rest.p4"
