// A switch on the action that a table ran (12.7.1); hit and miss (14.2.2).
// insert kinds a=1 => first
// insert kinds a=2 => second
// frame 1 01000000 => 2 010a0100
// frame 1 02000000 => 2 02140100
// frame 1 03000000 => 2 031e0001
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action first() { }
    action second() { }
    table kinds {
        key = { hdr.h.a: exact @name("a"); }
        actions = { first; second; @defaultonly NoAction; }
        default_action = NoAction();
    }
    table again {
        key = { hdr.h.a: exact; }
        actions = { NoAction; }
        const entries = { 1: NoAction(); 2: NoAction(); }
    }
    apply {
        switch (kinds.apply().action_run) {
            first: { hdr.h.b = 10; }
            second: { hdr.h.b = 20; }
            default: { hdr.h.b = 30; }
        }
        if (again.apply().miss) {
            hdr.h.d = 1;
        } else {
            hdr.h.c = 1;
        }
        std.egress_spec = 2;
    }
}
#include "rest.p4"
