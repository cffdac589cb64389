// A control is used twice: each instance has its own tables and constructor arguments (14.4, 15).
// insert one.grow a=1 => add value=2
// insert other.grow a=3 => add value=4
// frame 1 01000000 => 2 07000000
#include "start.p4"
control Grow(inout bit<8> a)(bit<8> plus) {
    action add(bit<8> value) { a = a + value; }
    table grow {
        key = { a: exact @name("a"); }
        actions = { add; NoAction; }
        default_action = NoAction();
    }
    apply {
        grow.apply();
        a = a + plus;
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Grow(0) one;
    Grow(8w1 - 1) other;
    apply {
        one.apply(hdr.h.a);
        other.apply(hdr.h.a);
        std.egress_spec = 2;
    }
}
#include "rest.p4"
