// A table may name an action that the control plane does not know (20.3.1): P4Info has it in the table only.
// insert t key=1 => b v=7
// frame 1 01000000 => 2 01070000
// frame 1 02000000 => 2 02030000
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    @hidden action a() { hdr.h.b = 3; }
    action b(bit<8> v) { hdr.h.b = v; }
    table t {
        key = { hdr.h.a : exact @name("key"); }
        actions = { a; b; }
        const default_action = a();
    }
    apply {
        t.apply();
        std.egress_spec = 2;
    }
}
#include "rest.p4"
