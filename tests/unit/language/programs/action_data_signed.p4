// An action gets signed numbers as bits: they are negative by their first one. An entry and a default action
// may leave out data that have a default value (6.8.2).
// insert I.u a=4 => I.sign of=0xfe
// frame 1 01000000 => 2 010001fd09
// frame 1 02000000 => 2 0200003207
// frame 1 03000000 => 2 030001ff07
// frame 1 04000000 => 2 040101ff07
#define OWN_HEADERS
#define OWN_PARSER
#include "start.p4"
header five_t { bit<8> a; bit<8> b; bit<8> c; bit<8> d; bit<8> e; }
struct headers_t { five_t h; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    four_t four;
    state start {
        packet.extract(four);
        hdr.h.setValid();
        hdr.h = { four.a, four.b, four.c, four.d, 0 };
        transition accept;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action half(int<8> of, bit<8> last = 7) {
        if (of < 0) {
            hdr.h.c = 1;
        }
        hdr.h.d = (bit<8>)(of >> 1);
        hdr.h.e = last;
    }
    action sign(int<8> of) {
        if (of < 0) {
            hdr.h.b = 1;
        }
    }
    table t {
        key = { hdr.h.a : exact; }
        actions = { half; }
        const default_action = half(of = -2);
        const entries = {
            1 : half(-6, 9);
            2 : half(100);
        }
    }
    table u {
        key = { hdr.h.a : exact @name("a"); }
        actions = { sign; }
        default_action = sign(3);
    }
    apply {
        t.apply();
        u.apply();
        std.egress_spec = 2;
    }
}
#include "rest.p4"
