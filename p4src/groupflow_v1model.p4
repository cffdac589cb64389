// The top for BMv2 and gfswitch: it only includes the stages, runs them in order, and translates between the neutral
// metadata and v1model's.
//
//            +--------+   +------------+   +---------+   +----------+   +-------------+
//  packet -->| parser |-->| validation |-->| control |-->| sessions |-->| acks        |--+
//            +--------+   +------------+   +---------+   +----------+   | repair      |  |  replication engine
//                               |            (punt)                     | replication |  +--> and queues
//                               |                                       +-------------+  |
//                               +-- unicast, ARP --> forwarding --> classification ------+  (queue)
//                               |                        +--------> refusal (reset) -----+
//                               +-- feedback, ticks --> diffusion -----------------------+
//                               +-- probes of links --> probes --------------------------+
//
//  Data of a session passes classification behind replication, too.
//  egress: neighbours (address each copy), stamp of probes, checksums, deparser
#include <core.p4>
#include <v1model.p4>

#include "include/sizes.p4"
#include "include/headers.p4"
#include "include/metadata.p4"
#include "include/parser.p4"
#include "include/checksums.p4"
#include "include/validation.p4"
#include "include/control.p4"
#include "include/sessions.p4"
#include "include/acks.p4"
#include "include/repair.p4"
#include "include/replication.p4"
#include "include/forwarding.p4"
#include "include/refusal.p4"
#include "include/scaling.p4"
#include "include/diffusion.p4"
#include "include/probes.p4"

// Packets within a session: from and to hosts and neighbour switches, all addressed to the group.
control Session(inout headers_t hdr, inout metadata_t meta) {
    Control() control_messages;
    Sessions() sessions;
    AckAggregation() acks;
    Repair() repair;
    Replication() replication;

    apply {
        bool punted;
        control_messages.apply(hdr, meta, punted);
        if (!punted) {
            sessions.apply(hdr, meta);
            if (meta.drop_reason == DROP_NONE) {
                if (hdr.group.type == TYPE_DATA || hdr.group.type == TYPE_REPAIR || hdr.group.type == TYPE_SYNC) {
                    replication.apply(hdr, meta);
                } else if (hdr.group.type == TYPE_NACK) {
                    repair.apply(hdr, meta);
                } else if (hdr.group.type == TYPE_ACK && meta.from_agent == 1) {
                    // The agent vouches for its branches (node-to-node): its word replaces theirs.
                    hdr.group.member = 0;
                    meta.group = meta.stream.upstream_group;
                } else if (hdr.group.type == TYPE_REPLY
                           || (hdr.group.type == TYPE_RESET && meta.ingress_port != CPU_PORT)) {
                    meta.drop_reason = DROP_NOT_CONTROLLER;
                } else if (hdr.group.type == TYPE_ACK || hdr.group.type == TYPE_RESET) {
                    acks.apply(hdr, meta);
                } else {
                    meta.drop_reason = DROP_UNKNOWN_TYPE;
                }
            }
        }
    }
}

control GroupflowIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Validation() validation;
    Session() session;
    Forwarding() forwarding;
    Refusal() refusal;
    Classification() classification;
    Diffusion() diffusion;
    Probes() probes;

    // Packets not forwarded, by reason. Index: DROP_*.
    counter(DROP_REASONS, CounterType.packets) drops;

    apply {
        meta.ingress_port = standard_metadata.ingress_port;
        meta.now = (bit<32>)standard_metadata.ingress_global_timestamp;
        meta.frame_bytes = (bit<16>)standard_metadata.packet_length;
        if (standard_metadata.parser_error != error.NoError) {
            meta.parser_failed = 1;
        }
        meta.checksum_failed = standard_metadata.checksum_error;

        if (hdr.packet_out.isValid() && hdr.packet_out.inject == 0) {
            meta.egress_port = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            if (hdr.feedback.isValid()) {
                meta.queue = QUEUE_FEEDBACK;   // a probe of a link
            }
        } else {
            validation.apply(hdr, meta);
            if (meta.drop_reason == DROP_NONE) {
                if (hdr.feedback.isValid() && (hdr.feedback.flags & FLAG_PROBE) != 0) {
                    probes.apply(hdr, meta);
                } else if (hdr.feedback.isValid() || hdr.tick.isValid()) {
                    diffusion.apply(hdr, meta);
                } else {
                    if (meta.is_group == 1 && hdr.group.isValid()) {
                        session.apply(hdr, meta);
                    } else {
                        forwarding.apply(hdr, meta);
                    }
                    if (meta.refused == 1) {
                        refusal.apply(hdr, meta);
                    } else {
                        classification.apply(hdr, meta);
                    }
                }
            }
        }

        if (meta.drop_reason == DROP_NONE && meta.group == 0 && meta.egress_port == 0) {
            meta.drop_reason = DROP_NO_UPSTREAM;
        }
        standard_metadata.priority = meta.queue;
        if (meta.drop_reason != DROP_NONE) {
            drops.count((bit<32>)meta.drop_reason);
            mark_to_drop(standard_metadata);
        } else if (meta.group != 0) {
            standard_metadata.mcast_grp = meta.group;
        } else {
            standard_metadata.egress_spec = meta.egress_port;
        }
    }
}

control GroupflowEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Neighbours() neighbours;
    ProbeStamp() probe_stamp;
    QueueMirror() queue_mirror;

    // Packets and bytes that left on each port. Index: port number.
    counter(MAX_PORTS, CounterType.packets_and_bytes) port_out;

    apply {
        if (meta.from_agent == 1 && standard_metadata.egress_port == meta.ingress_port) {
            mark_to_drop(standard_metadata);   // the agent's own repair: it has it
        } else {
            if (standard_metadata.egress_rid != 0) {
                neighbours.apply(hdr, standard_metadata.egress_rid);
            }
            queue_mirror.apply(meta, standard_metadata.egress_port, (bit<32>)standard_metadata.deq_qdepth);
            probe_stamp.apply(hdr, (bit<32>)standard_metadata.egress_global_timestamp);
            port_out.count((bit<32>)standard_metadata.egress_port);
        }
    }
}

V1Switch(GroupflowParser(), VerifyChecksums(), GroupflowIngress(), GroupflowEgress(), UpdateChecksums(),
         GroupflowDeparser()) main;
