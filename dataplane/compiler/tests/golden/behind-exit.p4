#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> a; }
struct headers_t { h_t h; }
struct metadata_t { }

action outside(inout h_t h) { h.a = 1; }
action other(inout h_t h) { h.a = 2; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.h); transition accept; }
}

control Inner(inout headers_t hdr) {
    action set() { hdr.h.a = 3; }
    table known { key = { hdr.h.a: exact; } actions = { set; NoAction; } default_action = set(); }
    // Without `return` in its control, what is behind `exit` is in P4Info.
    apply { exit; known.apply(); }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Inner() inner;
    apply {
        standard.egress_spec = 1;
        if (hdr.h.a == 7) { exit; outside(hdr.h); } else { exit; }
        inner.apply(hdr);
    }
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action own() { hdr.h.a = 4; }
    table unknown { key = { hdr.h.a: exact; } actions = { own; NoAction; } default_action = own(); }
    apply {
        if (hdr.h.a == 8) { return; other(hdr.h); } else { exit; }
        unknown.apply();
    }
}

control None(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.h); } }
V1Switch(P(), None(), MyIngress(), MyEgress(), None(), D()) main;
