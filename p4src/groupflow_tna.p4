// The top for Tofino and Tofino 2: it only includes the stages, runs them in order, and translates between
// the neutral metadata and the chip's.
//
//            +------------------------------------+   +--------------------+   +---------------------+
//  packet -->| ingress: validation, guard,        |-->| replication engine |-->| egress: neighbours, |-->
//            | session, streams, replication,     |   | and queues         |   | external reports,   |
//            | forwarding, classification,        |   +--------------------+   | stamp of probes     |
//            | refusal, probes, punting           |      |          |          +---------------------+
//            +------------------------------------+      |          | ghost thread: n of each queue
//               ^                                        v          v
//               |                      +--------------------------------------------------+
//               +----------------------| egress of LOOP_PORT: acks, diffusion (Tofino 2)  |
//                                      +--------------------------------------------------+
//
// An acknowledgement, feedback or a tick passes twice. Ingress looks it up and sends it to LOOP_PORT; egress
// of that port, where all pipes meet, has the registers and the arithmetic; back in ingress it goes where
// they say. Where a stream's data and its acknowledgements come in by two pipes, AckBound judges nothing. No
// entry, replica or packet-out may name LOOP_PORT, whose frames begin with loop_t.
//
// p4c-barefoot --target tofino  --arch tna  -D__TARGET_TOFINO__=1 --std p4-16 -g -o OUT groupflow_tna.p4
// p4c-barefoot --target tofino2 --arch t2na -D__TARGET_TOFINO__=2 --std p4-16 -g -o OUT groupflow_tna.p4
//
#include <core.p4>
#if __TARGET_TOFINO__ == 1
#include <tna.p4>
#else
#include <t2na.p4>
#endif

// Sizes that both chips hold.
#ifndef BRANCHES
#define BRANCHES 8
#endif
#ifndef MAX_STREAMS
#define MAX_STREAMS 16384
#endif
#ifndef MAX_BRANCHES
#define MAX_BRANCHES 65536
#endif

#include "targets/tna/intrinsic.p4"
#include "targets/tna/arithmetic.p4"
#include "stages/sizes.p4"
#include "stages/headers.p4"
#include "stages/metadata.p4"
#include "stages/checksum_fields.p4"
#include "targets/tna/checksums.p4"
#include "stages/counters.p4"
#include "targets/tna/ack_registers.p4"
#include "targets/tna/meters.p4"
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
#ifdef DIFFUSION
#include "stages/scaling.p4"
#include "targets/tna/queue_registers.p4"
#include "stages/diffusion.p4"
#endif
#include "targets/tna/bridge.p4"
#include "targets/tna/parsers.p4"

control GroupflowIngress(inout headers_t hdr, inout local_t local,
                         in ingress_intrinsic_metadata_t intrinsic,
                         in ingress_intrinsic_metadata_from_parser_t from_parser,
                         inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                         inout ingress_intrinsic_metadata_for_tm_t for_tm
#ifdef DIFFUSION
                         , in ghost_intrinsic_metadata_t ghost
#endif
                         ) {
    Validation() validation;
    Origin() sources;
    Guard() guard;
    Session() session;
    Forwarding() forwarding;
    Refusal() refusal;
    Probes() probes;
    Punting() punting;
    CountDrop() drop;
    Classification() classification;
#ifdef DIFFUSION
    Hops() hops;
#endif

    apply {
        if (local.loop.isValid()) {
            local.stages.ingress_port = local.loop.ingress_port;
            local.stages.group = local.loop.group;
            local.stages.drop_reason = local.loop.drop_reason;
            local.stages.punt = local.loop.punt;
            if (hdr.feedback.isValid()) {
                local.stages.egress_port = local.loop.egress_port;
                local.stages.bridged.queue = QUEUE_FEEDBACK;
            }
            local.loop.setInvalid();
        } else if (hdr.packet_out.isValid() && hdr.packet_out.inject == 0) {
            local.stages.ingress_port = CPU_PORT;
            local.stages.egress_port = hdr.packet_out.egress_port;
            if (hdr.packet_out.egress_port == CPU_PORT) {
                local.stages.punt = PUNT_ECHO;
            }
            if (hdr.probe.isValid()) {
                local.stages.bridged.queue = QUEUE_FEEDBACK;
            }
        } else {
            origin_t origin;
            local.stages.ingress_port = intrinsic.ingress_port;
            local.stages.now = microseconds(intrinsic.ingress_mac_tstamp);
            if (local.generator.isValid() && hdr.tick.isValid()) {
                hdr.tick.branch = local.generator.packet_id;   // one application sends all ticks of a flow
            }
            if (from_parser.parser_err != PARSER_ERROR_OK) {
                local.stages.parser_failed = 1;
            }
            sources.apply(hdr, local.stages, origin);
            validation.apply(hdr, local.stages);
            if (local.stages.drop_reason == DROP_NONE) {
                guard.apply(hdr, origin, local.stages);
            }
            if (local.stages.drop_reason == DROP_NONE) {
                if (hdr.probe.isValid()) {
                    probes.apply(hdr, local.stages);
                } else if (hdr.feedback.isValid() || hdr.tick.isValid()) {
#ifdef DIFFUSION
                    local.hop.setValid();
                    hops.apply(hdr, local.stages, local.hop);
                    local.kind = LOOP_HOP;
                    local.stages.bridged.queue = QUEUE_FEEDBACK;
                    local.stages.aggregates = 1;
#else
                    local.stages.drop_reason = DROP_UNKNOWN_PROTOCOL;
#endif
                } else if (local.stages.is_group == 1 && hdr.group.isValid()) {
                    session.apply(hdr, local.stages);
                } else {
                    forwarding.apply(hdr, local.stages);
                    if (local.stages.bridged.refused == 1) {
                        refusal.apply(hdr, local.stages);
                    } else if (local.stages.drop_reason == DROP_NONE) {
                        classification.apply(hdr, local.stages);
                    }
                }
            }
        }

        hdr.packet_out.setInvalid();
        if (local.stages.drop_reason == DROP_NONE && local.stages.punt != 0) {
            punting.apply(hdr, local.stages);
        }
        for_tm.qid = (QueueId_t)local.stages.bridged.queue;
        if (local.stages.drop_reason != DROP_NONE) {
            drop.apply(local.stages.drop_reason);
            for_deparser.drop_ctl = 1;
        } else if (local.stages.aggregates == 1) {
            local.loop.setValid();
            local.loop.index = local.stages.stream.index;
            local.loop.active = local.stages.stream.active;
            local.loop.group = local.stages.stream.ack_group;
            local.loop.branch = local.stages.branch;
            local.loop.kind = local.kind;
            local.loop.drop_reason = DROP_NONE;
            local.loop.punt = 0;
            local.loop.ingress_port = local.stages.ingress_port;
            for_tm.ucast_egress_port = LOOP_PORT;
        } else if (local.stages.group != 0) {
            for_tm.mcast_grp_a = local.stages.group;
        } else {
            for_tm.ucast_egress_port = local.stages.egress_port;
        }
    }
}

// Of ingress's metadata it reads `bridged` only, and `loop` and `hop` where the packet goes back.
control GroupflowEgress(inout headers_t hdr, inout local_t local,
                        in egress_intrinsic_metadata_t intrinsic,
                        in egress_intrinsic_metadata_from_parser_t from_parser,
                        inout egress_intrinsic_metadata_for_deparser_t for_deparser,
                        inout egress_intrinsic_metadata_for_output_port_t for_output_port) {
    AckAggregation() acks;
#ifdef DIFFUSION
    ExternalReports() external_reports;
    HeardReport() heard;
    Demand() demand;
    Report() report;
#endif
    Neighbours() neighbours;
    ProbeStamp() probe_stamp;
    CountOwnRepair() own_repair;
    CountDeparture() departure;

    apply {
        local.tcp_length = TCP_BYTES;
#ifdef DIFFUSION
        rate_t j;
        bit<1> external = 0;
        if (hdr.feedback.isValid() && !local.loop.isValid()) {
            local.hop.setValid();
            external_reports.apply(hdr, intrinsic.egress_port, local.hop, external);
        }
        if (local.loop.isValid() && local.loop.kind == LOOP_HOP) {
            heard.apply(hdr, local.hop.cell, local.hop.r, local.hop.next_n);
        }
        if ((local.loop.isValid() && local.loop.kind == LOOP_HOP) || external == 1) {
            demand.apply(local.hop, j);
        }
        if (external == 1) {
            hdr.feedback.flags = FLAG_EXTERNAL;
            hdr.feedback.r = j;
        }
        if (local.loop.isValid() && local.loop.kind == LOOP_HOP) {
            report.apply(hdr, local.stages, local.hop, j);
            local.loop.drop_reason = local.stages.drop_reason;
            local.loop.egress_port = local.stages.egress_port;
        } else
#endif
        if (local.loop.isValid()) {
            local.stages.stream.index = local.loop.index;
            local.stages.stream.active = local.loop.active;
            local.stages.stream.ack_group = local.loop.group;
            local.stages.branch = local.loop.branch;
            acks.apply(hdr, local.stages);
            local.loop.group = local.stages.group;
            local.loop.drop_reason = local.stages.drop_reason;
            local.loop.punt = local.stages.punt;
        } else if (local.stages.bridged.from_agent == 1
                   && intrinsic.egress_port == local.stages.bridged.agent_port) {
            own_repair.apply();
            for_deparser.drop_ctl = 1;
        } else {
            if (intrinsic.egress_rid != 0) {
                neighbours.apply(hdr, intrinsic.egress_rid);
            }
            probe_stamp.apply(hdr, microseconds(from_parser.global_tstamp));
            departure.apply(intrinsic.egress_port);
        }
    }
}

Pipeline(IngressParser(), GroupflowIngress(), IngressDeparser(),
         EgressParser(), GroupflowEgress(), EgressDeparser()
#ifdef DIFFUSION
         , GroupflowGhost()
#endif
         ) pipe;

Switch(pipe) main;
