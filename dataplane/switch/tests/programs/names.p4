// Two instances of one control, two keys with one last name, an error in a digest.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<32> dst;
    bit<32> src;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct report_t {
    error   reason;
    bit<9>  port;
}

struct meta_t {}

parser NamesParser(packet_in packet, out headers_t headers, inout meta_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        packet.extract(headers.ipv4);
        transition accept;
    }
}

control Forward(inout headers_t headers, inout standard_metadata_t standard) {
    action send(bit<9> port) {
        standard.egress_spec = port;
    }
    table forward {
        key = {
            headers.ethernet.dst : exact;
            headers.ipv4.dst     : lpm;
        }
        actions = { send; NoAction; }
        default_action = NoAction();
    }
    apply {
        forward.apply();
    }
}

control NamesIngress(inout headers_t headers, inout meta_t meta, inout standard_metadata_t standard) {
    Forward() first;
    Forward() second;
    apply {
        standard.egress_spec = 511;
        first.apply(headers, standard);
        second.apply(headers, standard);
        digest<report_t>(1, { standard.parser_error, standard.ingress_port });
    }
}

control NamesVerify(inout headers_t headers, inout meta_t meta) { apply {} }
control NamesEgress(inout headers_t headers, inout meta_t meta, inout standard_metadata_t standard) { apply {} }
control NamesCompute(inout headers_t headers, inout meta_t meta) { apply {} }

control NamesDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers);
    }
}

V1Switch(NamesParser(), NamesVerify(), NamesIngress(), NamesEgress(), NamesCompute(), NamesDeparser()) main;
