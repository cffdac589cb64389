// A program that uses every part of the switch and every kind of P4Runtime entity, for tests only.
//
//   p4c-bm2-ss --p4runtime-files testbed.p4info.txtpb -o testbed.json testbed.p4
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ethertype;
}

// Queue metadata of the packet's way through the switch; added to frames of ethertype 0x1234.
header queue_t {
    bit<16> rid;
    bit<8>  instance_type;
    bit<8>  passes;
    bit<32> enq_qdepth;
    bit<32> deq_qdepth;
    bit<32> deq_timedelta;
}

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> reason;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> padding;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t  packet_in;
    ethernet_t   ethernet;
    queue_t      queue;
}

struct metadata_t {
    @field_list(1)
    bit<8>  passes;
    bit<2>  colour;
    bit<8>  kind;
    @field_list(1)
    bit<1>  again;
}

struct learned_t {
    bit<48> src;
    bit<9>  port;
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        transition select(sm.ingress_port) {
            510:     controller;
            default: ethernet;
        }
    }
    state controller {
        packet.extract(hdr.packet_out);
        transition ethernet;
    }
    state ethernet {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control TestVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control TestCompute(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    direct_counter(CounterType.packets_and_bytes) rule_hits;
    direct_meter<bit<2>>(MeterType.bytes) route_meter;
    counter(16, CounterType.packets_and_bytes) arrivals;
    meter(8, MeterType.packets) policers;
    register<bit<32>>(32) cells;
    register<int<12>>(4) signed_cells;

    action drop() { mark_to_drop(sm); }
    action forward(bit<9> port, bit<3> priority) {
        sm.egress_spec = port;
        sm.priority = priority;
    }
    action multicast(bit<16> group) { sm.mcast_grp = group; }
    action clone_and_forward(bit<32> session, bit<9> port) {
        clone(CloneType.I2E, session);
        sm.egress_spec = port;
    }
    action learn(bit<9> port) {
        digest<learned_t>(1, { hdr.ethernet.src, sm.ingress_port });
        sm.egress_spec = port;
    }
    action go_round(bit<9> port) {
        meta.again = 1;
        sm.egress_spec = port;
    }
    action only_as_default() { mark_to_drop(sm); }
    action count_in_cell(bit<32> cell) {
        bit<32> value;
        cells.read(value, cell);
        cells.write(cell, value + 1);
        mark_to_drop(sm);
    }

    // Exact, with every action.
    table destinations {
        key = { hdr.ethernet.dst : exact; }
        actions = {
            forward; multicast; clone_and_forward; learn; go_round; count_in_cell;
            @tableonly drop; @defaultonly only_as_default;
        }
        default_action = only_as_default();
        size = 64;
    }

    action tag(bit<7> mark) { meta.passes = meta.passes + (bit<8>)mark; rule_hits.count(); }
    action keep() { rule_hits.count(); }

    // Ternary, range and optional, with a direct counter.
    table rules {
        key = {
            hdr.ethernet.src       : ternary @name("src");
            hdr.ethernet.ethertype : range   @name("ethertype");
            sm.ingress_port        : optional @name("port");
        }
        actions = { tag; keep; }
        const default_action = keep();
        counters = rule_hits;
        size = 4;
    }

    action metered() { route_meter.read(meta.colour); }

    // Longest prefix, with a direct meter.
    table prefixes {
        key = { hdr.ethernet.src : lpm; }
        actions = { metered; NoAction; }
        default_action = NoAction();
        meters = route_meter;
        size = 16;
    }

    action keep_type(bit<8> kind) { meta.kind = kind; }

    // Constant entries.
    table fixed {
        key = { hdr.ethernet.ethertype : exact; }
        actions = { NoAction; keep_type; }
        const entries = {
            0x1234 : keep_type(1);
            0x5678 : NoAction();
        }
    }

    action count_all(bit<32> cell) { arrivals.count(cell); }

    // No key.
    table everyone {
        actions = { NoAction; count_all; }
        default_action = count_all(0);
    }

    apply {
        everyone.apply();
        if (hdr.packet_out.isValid()) {
            sm.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else {
            fixed.apply();
            rules.apply();
            prefixes.apply();
            policers.execute_meter((bit<32>)sm.ingress_port & 7, meta.colour);
            signed_cells.write(0, -1);
            destinations.apply();
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (sm.egress_port == 510) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = sm.ingress_port;
            hdr.packet_in.reason = 5;
        } else if (hdr.ethernet.ethertype == 0xdead) {
            mark_to_drop(sm);
        } else if (hdr.ethernet.ethertype == 0xc10e) {
            clone(CloneType.E2E, 9);
        } else if (hdr.ethernet.ethertype == 0x1234) {
            hdr.queue.setValid();
            hdr.queue.rid = sm.egress_rid;
            hdr.queue.instance_type = (bit<8>)sm.instance_type;
            hdr.queue.passes = meta.passes;
            hdr.queue.enq_qdepth = (bit<32>)sm.enq_qdepth;
            hdr.queue.deq_qdepth = (bit<32>)sm.deq_qdepth;
            hdr.queue.deq_timedelta = sm.deq_timedelta;
        }
        if (meta.again == 1 && meta.passes < 3) {
            meta.passes = meta.passes + 1;
            recirculate_preserving_field_list(1);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.queue);
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestCompute(), TestDeparser()) main;
