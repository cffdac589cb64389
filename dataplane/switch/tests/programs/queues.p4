// A program for tests of queues: a frame's first 14 bytes say which port and queue it goes to, and a frame of
// type SET_RATE writes a rate before that. Egress notes what it sees of its queue.
//
//   p4c-bm2-ss --p4runtime-files queues.p4info.txtpb -o queues.json queues.p4
#include <core.p4>
#include <v1model.p4>

const bit<16> SET_RATE = 0x88b6;

header request_t {
    bit<16> port;      // egress port; 511 drops
    bit<8>  queue;
    bit<8>  _unused;
    bit<16> id;
    bit<48> source;
    bit<16> type;
}

// Follows where type is SET_RATE.
header rate_t {
    bit<16> cell;      // port * 8 + queue
    bit<32> rate;      // 1/64 packet/s
}

struct headers_t {
    request_t request;
    rate_t    rate;
}

struct metadata_t {}

parser QueueParser(packet_in pkt, out headers_t hdr, inout metadata_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.request);
        transition select(hdr.request.type) {
            SET_RATE: set_rate;
            default:  accept;
        }
    }
    state set_rate {
        pkt.extract(hdr.rate);
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t m) { apply {} }
control NoUpdate(inout headers_t hdr, inout metadata_t m) { apply {} }

control QueueIngress(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t sm) {
    @groupflow_queue_rate(8)
    register<bit<32>>(64) rate;

    apply {
        if (hdr.rate.isValid()) {
            rate.write((bit<32>) hdr.rate.cell, hdr.rate.rate);
        }
        sm.egress_spec = (bit<9>) hdr.request.port;
        sm.priority = (bit<3>) hdr.request.queue;
    }
}

control QueueEgress(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t sm) {
    @groupflow_queue_depth(8)
    register<bit<32>>(64) depth;
    @groupflow_queue_share(8)
    register<bit<32>>(64) share;
    register<bit<32>>(4) seen;

    apply {
        bit<32> cell = (bit<32>) sm.egress_port << 3 | (bit<32>) sm.priority;
        bit<32> value;
        depth.read(value, cell);
        seen.write(0, value);
        seen.write(1, (bit<32>) sm.deq_qdepth);
        share.read(value, cell);
        seen.write(2, value);
    }
}

control QueueDeparser(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.request);
        pkt.emit(hdr.rate);
    }
}

V1Switch(QueueParser(), NoVerify(), QueueIngress(), QueueEgress(), NoUpdate(), QueueDeparser()) main;
