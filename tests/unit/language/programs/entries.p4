// Entries of the program: the first wins, or the largest priority where it is asked for (14.2.1.4).
// frame 1 11000000 => 2 11010100
// frame 1 12000000 => 2 12020300
// frame 1 25000000 => 2 25000200
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set_b(bit<8> value) { hdr.h.b = value; }
    action set_c(bit<8> value) { hdr.h.c = value; }
    table first_wins {
        key = { hdr.h.a: ternary; }
        actions = { set_b; NoAction; }
        default_action = NoAction();
        const entries = {
            0x11: set_b(1);
            0x10 &&& 0xf0: set_b(2);
            0x12: set_b(3);
        }
    }
    table largest_wins {
        key = { hdr.h.a: ternary; }
        actions = { set_c; NoAction; }
        default_action = NoAction();
        largest_priority_wins = true;
        entries = {
            const priority = 10: 0x11: set_c(1);
            priority = 5: _: set_c(2);
            priority = 7: 0x10 &&& 0xf0: set_c(3);
        }
    }
    apply {
        first_wins.apply();
        largest_wins.apply();
        std.egress_spec = 2;
    }
}
#include "rest.p4"
