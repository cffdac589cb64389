#include <core.p4>
#include <v1model.p4>

typedef bit<48> mac_t;

header ethernet_t
    mac_t dst;
    mac_t src;
}

control C(inout bit<8> x) {
    apply (
}
