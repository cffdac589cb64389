// The least program, for measuring the cost of the switch itself: packets from port 1 leave by port 2.
//
//   p4c-bm2-ss --p4runtime-files wire.p4info.txtpb -o wire.json wire.p4
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ethertype;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {}

parser WireParser(packet_in pkt, out headers_t hdr, inout metadata_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.ethernet);
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t m) { apply {} }
control NoUpdate(inout headers_t hdr, inout metadata_t m) { apply {} }
control NoEgress(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t sm) { apply {} }

control WireIngress(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t sm) {
    apply { sm.egress_spec = 2; }
}

control WireDeparser(packet_out pkt, in headers_t hdr) {
    apply { pkt.emit(hdr.ethernet); }
}

V1Switch(WireParser(), NoVerify(), WireIngress(), NoEgress(), NoUpdate(), WireDeparser()) main;
