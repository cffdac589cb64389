// A number with more bits than the field it is of has all its bits in keys and slices (8.6, 8.11.1, 13.6).
// insert wide a=0x0001 b=1 priority=1 => to port=2
// insert wide a=0x0002 b=1 priority=1 => to port=3
// frame 1 01010000 => 2 01010000
// frame 1 02010000 => 3 02010000
// frame 1 02030000 => 4 02030000
// frame 1 03000000 => nothing
// frame 1 020103ff => 3 020103ff
// frame 1 0203ffff => 4 020303ff
#define OWN_PARSER
#include "start.p4"
struct wide_t { bit<16> a; bit<16> b; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        transition select((bit<16>)hdr.h.a, (bit<32>)hdr.h.b) {
            (2, 3): both;
            (0x0300 &&& 0xff00, _): both;
            default: accept;
        }
    }
    state both {
        meta.x = 1;
        transition accept;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action to(bit<9> port) {
        std.egress_spec = port;
    }
    table wide {
        key = {
            (bit<16>)hdr.h.a : exact @name("a");
            (bit<12>)hdr.h.b : ternary @name("b");
        }
        actions = { to; }
        default_action = to(511);
    }
    apply {
        digest<wide_t>(1, { (bit<16>)hdr.h.a, (bit<16>)hdr.h.b });
        if (meta.x == 1) {
            hdr.h.c = ((bit<32>)hdr.h.d[3:0])[9:2];
            std.egress_spec = 4;
        } else {
            wide.apply();
        }
    }
}
#include "rest.p4"
