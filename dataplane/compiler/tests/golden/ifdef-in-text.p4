#include <core.p4>
#include <v1model.p4>

control C(inout bit<8> x) {
    @description("one line
    #ifdef OTHER
    and another")
    action none() { }
    apply { none(); }
}
