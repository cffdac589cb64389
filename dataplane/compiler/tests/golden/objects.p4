// Registers, counters, meters and action profiles that no block uses are in P4Info, value sets are not.
// Digests come block by block, first those of actions. A table's size is as it is written.
#include <core.p4>
#include <v1model.p4>

header byte_t { bit<8> a; }
struct headers_t { byte_t h; }
struct meta_t { }
struct first_t { bit<8> a; }
struct second_t { bit<8> a; }
struct third_t { bit<8> a; }
struct fourth_t { bit<8> a; }
struct fifth_t { bit<8> a; }

register<bit<32>>(10) numbers;
counter(10, CounterType.packets) packets;
meter(10, MeterType.packets) colours;
action_profile(16) members;
direct_counter(CounterType.packets) of_no_table;

parser MyParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<bit<8>>(4) of_no_select;
    value_set<bit<8>>(4) kinds;
    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.a) {
            kinds: accept;
            default: accept;
        }
    }
}

control MyVerify(inout headers_t hdr, inout meta_t meta) { apply { } }

control Inner(in headers_t hdr) {
    action first() { digest<first_t>(1, { hdr.h.a }); }
    table t { key = { hdr.h.a: exact; } actions = { first; } }
    apply {
        t.apply();
        digest<fourth_t>(1, { hdr.h.a });
    }
}

control MyIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Inner() inner;
    action second() { digest<second_t>(1, { hdr.h.a }); }
    table small {
        key = { hdr.h.a: exact; }
        actions = { second; NoAction; }
        size = 1;
        const entries = {
            1: second();
            2: NoAction();
        }
    }
    apply {
        digest<third_t>(1, { hdr.h.a });
        small.apply();
        inner.apply(hdr);
    }
}

control MyEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { digest<fifth_t>(1, { hdr.h.a }); }
}

control MyCompute(inout headers_t hdr, inout meta_t meta) { apply { } }
control MyDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
