// Conditions and a return in an action, which BMv2 runs as jumps (14.1, 12.4).
// insert kinds a=1 => choose limit=5
// frame 1 01040000 => 2 01040100
// frame 1 01050000 => 2 01050203
// frame 1 01090000 => 2 01090204
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action choose(bit<8> limit) {
        if (hdr.h.b < limit) {
            hdr.h.c = 1;
            return;
        } else {
            hdr.h.c = 2;
        }
        bool large = hdr.h.b > limit;
        hdr.h.d = large && hdr.h.a == 1 ? 8w4 : 3;
    }
    table kinds {
        key = { hdr.h.a: exact @name("a"); }
        actions = { choose; NoAction; }
        default_action = NoAction();
    }
    apply {
        kinds.apply();
        std.egress_spec = 2;
    }
}
#include "rest.p4"
