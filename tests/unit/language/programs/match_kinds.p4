// exact, lpm, ternary, range and optional keys (14.2.1.1, v1model).
// insert longest h.a=0x80/1 => set value=1
// insert longest h.a=0xc0/2 => set value=2
// insert mixed h.b=2..4 h.c=5 priority=2 => set value=8
// insert mixed priority=1 => set value=16
// frame 1 80000000 => 2 80000011
// frame 1 c0030500 => 2 c003050a
// frame 1 00030600 => 2 00030610
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set(bit<8> value) { hdr.h.d = hdr.h.d + value; }
    table longest {
        key = { hdr.h.a: lpm @name("h.a"); }
        actions = { set; NoAction; }
        default_action = NoAction();
    }
    table mixed {
        key = { hdr.h.b: range @name("h.b"); hdr.h.c: optional @name("h.c"); }
        actions = { set; NoAction; }
        default_action = NoAction();
    }
    apply {
        longest.apply();
        mixed.apply();
        std.egress_spec = 2;
    }
}
#include "rest.p4"
