// A program in which selectors and random() decide, for tests of all outcomes.
//
//   p4c-bm2-ss --p4runtime-files chance.p4info.txtpb -o chance.json chance.p4
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ethertype;
}

struct headers_t { ethernet_t ethernet; }

struct metadata_t {
    bit<8>  drawn;
    bit<8>  second;
    bit<16> wide;
    bit<2>  colour;
    bit<32> uses;
}

parser ChanceParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control ChanceVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control ChanceCompute(inout headers_t hdr, inout metadata_t meta) { apply { } }

control ChanceIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action_selector(HashAlgorithm.crc16, 64, 16) ports;
    action_selector(HashAlgorithm.crc16, 64, 16) sources;
    direct_counter(CounterType.packets) hits;
    direct_meter<bit<2>>(MeterType.packets) marks;
    counter(4, CounterType.packets) packets;
    meter(4, MeterType.packets) policers;
    register<bit<32>>(4) uses;

    action drop() { mark_to_drop(sm); }
    action forward(bit<9> port) { sm.egress_spec = port; }
    action multicast(bit<16> group) { sm.mcast_grp = group; }
    action from(bit<48> src) { hdr.ethernet.src = src; }
    action hit() { hits.count(); }
    action mark() { marks.read(meta.colour); }

    table ways {
        key = { hdr.ethernet.dst : exact; hdr.ethernet.src : selector; }
        actions = { forward; multicast; drop; }
        implementation = ports;
        size = 16;
    }
    table names {
        key = { hdr.ethernet.dst : exact; hdr.ethernet.src : selector; }
        actions = { from; }
        implementation = sources;
        size = 16;
    }
    table counted {
        key = { hdr.ethernet.ethertype : exact; }
        actions = { hit; }
        default_action = hit();
        counters = hits;
        size = 40000;
    }
    table marked {
        key = { hdr.ethernet.ethertype : exact; }
        actions = { mark; }
        default_action = mark();
        meters = marks;
    }

    apply {
        // Each run finds the state that the packet found, as the type of a frame that leaves says.
        uses.read(meta.uses, 0);
        meta.uses = meta.uses + 1;
        uses.write(0, meta.uses);
        packets.count(0);
        packets.count(1);
        counted.apply();
        marked.apply();
        policers.execute_meter<bit<2>>(0, meta.colour);
        ways.apply();
        names.apply();
        if (hdr.ethernet.ethertype == 1) {
            random<bit<8>>(meta.drawn, 0, 7);
            hdr.ethernet.src = (bit<48>)(meta.drawn >> 1);
        } else if (hdr.ethernet.ethertype == 2) {
            random<bit<16>>(meta.wide, 10, 0xffff);
            hdr.ethernet.src = (bit<48>)meta.wide;
        } else if (hdr.ethernet.ethertype == 3) {
            random<bit<8>>(meta.drawn, 0, 15);
            random<bit<8>>(meta.second, 0, 15);
            hdr.ethernet.src = (bit<48>)(meta.drawn ++ meta.second);
            random<bit<8>>(meta.drawn, 0, 1);
        }
        hdr.ethernet.ethertype = (bit<16>)meta.uses;
    }
}

control ChanceEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.ethernet.dst == 9) {
            recirculate_preserving_field_list(0);
        }
    }
}

control ChanceDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ethernet); } }

V1Switch(ChanceParser(), ChanceVerify(), ChanceIngress(), ChanceEgress(), ChanceCompute(), ChanceDeparser()) main;
