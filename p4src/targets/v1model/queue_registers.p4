// The registers of diffusion.p4. The traffic manager keeps or obeys those with an annotation
// (docs/reference/traffic-manager.md). Index: the flow's cell, egress port * 8 + queue; of
// BranchReports: the flow.

// n packets wait now.
control QueueDepth(in cell_t cell, out int<32> n) {
    @id(0x16000003) @name(".queue_depth") @groupflow_queue_depth(8)
    register<bit<32>>(QUEUE_CELLS) queue_depth;

    apply {
        bit<32> depth;
        queue_depth.read(depth, (bit<32>)cell);
        n = depth_of(depth);
    }
}

// The report of the downstream neighbour: feedback's is kept, a tick recalls it.
control HeardReport(in headers_t hdr, in cell_t cell, inout rate_t r, inout int<32> next_n) {
    // RATE_MAX - r_i: 0, as registers start, is no limit.
    @id(0x16000006) register<rate_t>(QUEUE_CELLS) heard_headroom;
    @id(0x16000007) register<int<32>>(QUEUE_CELLS) heard_depth;

    apply {
        if (hdr.feedback.isValid()) {
            heard_headroom.write((bit<32>)cell, r ^ RATE_MAX);
            heard_depth.write((bit<32>)cell, next_n);
        } else {
            heard_headroom.read(r, (bit<32>)cell);
            r = r ^ RATE_MAX;
            heard_depth.read(next_n, (bit<32>)cell);
        }
    }
}

// The rate at which the queue is served: no limit before it is first written.
control QueueRate(in cell_t cell, in rate_t value) {
    @id(0x16000004) @name(".queue_rate") @groupflow_queue_rate(8)
    register<bit<32>>(QUEUE_CELLS) queue_rate;

    apply {
        queue_rate.write((bit<32>)cell, (bit<32>)value);
    }
}

// L of eq. 13, at most RATE_MAX. 0xffffffff: the port sets no limit.
control QueueShare(in cell_t cell, out rate_t share) {
    @id(0x16000005) @name(".queue_share") @groupflow_queue_share(8)
    register<bit<32>>(QUEUE_CELLS) queue_share;

    apply {
        bit<32> value;
        queue_share.read(value, (bit<32>)cell);
        share = (rate_t)minimum(value, (bit<32>)RATE_MAX);
    }
}

// The joint report of the branches that ticked in this round, this one included.
control BranchReports(in flow_t flow, in combine_t combine, inout int<32> n, inout rate_t r) {
    @id(0x16000008) register<int<32>>(MAX_FLOWS) report_depth;
    @id(0x16000009) register<rate_t>(MAX_FLOWS) report_rate;

    apply {
        int<32> other_n;
        rate_t other_r;
        report_depth.read(other_n, (bit<32>)flow);
        report_rate.read(other_r, (bit<32>)flow);
        if (combine == COMBINE_SLOWEST) {
            n = signed_maximum(n, other_n);
            r = signed_minimum(r, other_r);
        } else if (combine == COMBINE_FASTEST) {
            n = signed_minimum(n, other_n);
            r = signed_maximum(r, other_r);
        }
        report_depth.write((bit<32>)flow, n);
        report_rate.write((bit<32>)flow, r);
    }
}

// How many packets the last one left behind in its queue. gfswitch keeps queue_depth itself; where a traffic
// manager does not (BMv2), the rate agent beside the switch copies this there.
control QueueMirror(in bridged_t bridged, in port_id_t port, in bit<32> depth) {
    @id(0x1600000a) @name(".left_behind") register<bit<32>>(QUEUE_CELLS) left_behind;

    apply {
        if (bridged.queue != 0) {
            left_behind.write((bit<32>)(port ++ bridged.queue), depth);
        }
    }
}
