// The top for BMv2 and gfswitch: it only includes the stages, runs them in order, and translates between the
// neutral metadata and v1model's.
//
//            +--------+   +------------+   +---------+   +---------+   +-------------+
//  packet -->| parser |-->| validation |-->| session |-->| streams |-->| acks        |--+
//            +--------+   | guard      |   +---------+   +---------+   | replication |  |  replication engine
//                         +------------+       |        (repair)     +-------------+  +--> and queues
//                               |                                                       |
//                               +-- unicast, ARP --> forwarding --> classification -----+  (queue)
//                               |                        +--------> refusal (reset) ----+
//                               +-- feedback, ticks --> diffusion ----------------------+
//                               +-- probes of links --> probes -------------------------+
//
//  egress: neighbours (address each copy), external reports, stamp of probes, checksums, deparser
#include <core.p4>
#include <v1model.p4>

#include "targets/v1model/intrinsic.p4"
#include "targets/v1model/arithmetic.p4"
#include "stages/sizes.p4"
#include "stages/headers.p4"
#include "stages/metadata.p4"
#include "stages/checksum_fields.p4"
#include "targets/v1model/checksums.p4"
#include "stages/counters.p4"
#include "targets/v1model/ack_registers.p4"
#include "targets/v1model/meters.p4"
#include "stages/validation.p4"
#include "stages/guard.p4"
#include "stages/streams.p4"
#include "stages/acks.p4"
#include "stages/replication.p4"
#include "stages/session.p4"
#include "stages/forwarding.p4"
#include "stages/refusal.p4"
#include "stages/probes.p4"
#include "stages/punting.p4"
#include "stages/classification.p4"
#include "stages/scaling.p4"
#include "targets/v1model/queue_registers.p4"
#include "stages/diffusion.p4"

const hop_t NO_HOP = { 0, { { 0, 0, 0 }, { 0, 0, 0 }, 0 }, 0, 0, 0, 0, 0, 0, COMBINE_FIRST };

parser GroupflowParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    state start {
        transition select(standard_metadata.ingress_port) {
            CPU_PORT: parse_packet_out;
            default:  parse_ethernet;
        }
    }
#include "stages/parser_states.p4"
}

control GroupflowIngress(inout headers_t hdr, inout metadata_t meta,
                         inout standard_metadata_t standard_metadata) {
    Validation() validation;
    Origin() sources;
    Guard() guard;
    Session() session;
    AckAggregation() acks;
    Forwarding() forwarding;
    Refusal() refusal;
    Probes() probes;
    Punting() punting;
    CountDrop() drop;
    ForeignChecksum() foreign_checksum;
    Classification() classification;
    Hops() hops;
    HeardReport() heard;
    Demand() demand;
    Report() report;

    apply {
        meta.ingress_port = standard_metadata.ingress_port;
        meta.now = microseconds(standard_metadata.ingress_global_timestamp);
        meta.payload_bytes = (bit<16>)standard_metadata.packet_length - ETHERNET_BYTES;
        meta.parser_failed = (bit<1>)(standard_metadata.parser_error != error.NoError);
        meta.checksum_failed = standard_metadata.checksum_error;
        if (hdr.foreign.isValid()) {
            foreign_checksum.apply(hdr.foreign, meta.foreign_failed);
        }

        if (hdr.packet_out.isValid() && hdr.packet_out.inject == 0) {
            meta.egress_port = hdr.packet_out.egress_port;
            if (hdr.packet_out.egress_port == CPU_PORT) {
                meta.punt = PUNT_ECHO;
            }
            if (hdr.probe.isValid()) {
                meta.bridged.queue = QUEUE_FEEDBACK;
            }
        } else {
            origin_t origin;
            sources.apply(hdr, meta, origin);
            validation.apply(hdr, meta);
            if (meta.drop_reason == DROP_NONE) {
                guard.apply(hdr, origin, meta);
            }
            if (meta.drop_reason == DROP_NONE) {
                if (hdr.probe.isValid()) {
                    probes.apply(hdr, meta);
                } else if (hdr.feedback.isValid() || hdr.tick.isValid()) {
                    hop_t hop = NO_HOP;
                    rate_t j;
                    hops.apply(hdr, meta, hop);
                    if (meta.drop_reason == DROP_NONE) {
                        heard.apply(hdr, hop.cell, hop.r, hop.next_n);
                        demand.apply(hop, j);
                        report.apply(hdr, meta, hop, j);
                    }
                } else {
                    if (meta.is_group == 1 && hdr.group.isValid()) {
                        session.apply(hdr, meta);
                        if (meta.aggregates == 1 && meta.drop_reason == DROP_NONE) {
                            acks.apply(hdr, meta);
                        }
                    } else {
                        forwarding.apply(hdr, meta);
                        if (meta.bridged.refused == 1) {
                            refusal.apply(hdr, meta);
                        } else if (meta.drop_reason == DROP_NONE) {
                            classification.apply(hdr, meta);
                        }
                    }
                }
            }
        }

        hdr.packet_out.setInvalid();

        if (meta.drop_reason == DROP_NONE && meta.punt != 0) {
            punting.apply(hdr, meta);
        }
        standard_metadata.priority = meta.bridged.queue;
        if (meta.drop_reason != DROP_NONE) {
            drop.apply(meta.drop_reason);
            mark_to_drop(standard_metadata);
        } else if (meta.group != 0) {
            standard_metadata.mcast_grp = meta.group;
        } else {
            standard_metadata.egress_spec = meta.egress_port;
        }
    }
}

// Of ingress's metadata it reads `bridged` only.
control GroupflowEgress(inout headers_t hdr, inout metadata_t meta,
                        inout standard_metadata_t standard_metadata) {
    Neighbours() neighbours;
    ProbeStamp() probe_stamp;
    CountOwnRepair() own_repair;
    CountDeparture() departure;
    ExternalReports() external_reports;
    Demand() demand;
    QueueMirror() queue_mirror;

    apply {
        if (meta.bridged.from_agent == 1 && standard_metadata.egress_port == meta.bridged.agent_port) {
            own_repair.apply();
            mark_to_drop(standard_metadata);
        } else {
            if (standard_metadata.egress_rid != 0) {
                neighbours.apply(hdr, standard_metadata.egress_rid);
            }
            if (hdr.feedback.isValid()) {
                bit<1> external;
                hop_t hop = NO_HOP;
                external_reports.apply(hdr, standard_metadata.egress_port, hop, external);
                if (external == 1) {
                    demand.apply(hop, hdr.feedback.r);
                    hdr.feedback.flags = FLAG_EXTERNAL;
                }
            }
            queue_mirror.apply(meta.bridged, standard_metadata.egress_port,
                               (bit<32>)standard_metadata.deq_qdepth);
            probe_stamp.apply(hdr, microseconds(standard_metadata.egress_global_timestamp));
            departure.apply(standard_metadata.egress_port);
        }
    }
}

control GroupflowDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(GroupflowParser(), VerifyChecksums(), GroupflowIngress(), GroupflowEgress(), UpdateChecksums(),
         GroupflowDeparser()) main;
