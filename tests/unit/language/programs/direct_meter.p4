// A direct meter's colour is read where the action says, and into any place (6.8).
// insert t hdr.h.a=1 => first
// insert t hdr.h.a=2 => second
// frame 1 01000000 => 2 01010300
// frame 1 02000000 => 2 02000000
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    direct_meter<bit<8>>(MeterType.packets) m;
    action first() {
        bit<8> colour = 3;
        hdr.h.c = colour;
        m.read(colour);
        hdr.h.b = colour + 1;
    }
    action second() {
        hdr.h.d = 3;
        m.read(hdr.h.d);
    }
    table t {
        key = { hdr.h.a: exact; }
        actions = { first; second; }
        meters = m;
    }
    apply {
        t.apply();
        std.egress_spec = 2;
    }
}
#include "rest.p4"
