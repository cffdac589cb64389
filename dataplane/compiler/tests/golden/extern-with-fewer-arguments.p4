#include <core.p4>
#include <v1model.p4>

// v1model's function of this name has an argument.
extern void truncate();

struct headers_t { }
struct metadata_t { }

parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        transition accept;
    }
}

control MyNone(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        truncate();
    }
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control MyDeparser(packet_out packet, in headers_t hdr) {
    apply { }
}

V1Switch(MyParser(), MyNone(), MyIngress(), MyEgress(), MyNone(), MyDeparser()) main;
