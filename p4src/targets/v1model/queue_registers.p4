// The registers of diffusion.p4. The traffic manager keeps or obeys those with an annotation
// (docs/reference/traffic-manager.md). Index: the flow's cell, egress port * QUEUES + queue; of
// BranchReports: the flow.

// n packets wait now. The report of the downstream neighbour is kept (`heard`), or recalled.
control QueueState(in bit<32> cell, in bool heard, inout rate_t r, inout bit<32> next_n, out bit<32> n) {
    @id(0x16000003) @name(".queue_depth") @groupflow_queue_depth(8)
    register<bit<32>>(QUEUE_CELLS) queue_depth;
    // RATE_MAX - r_i: 0, as registers start, is no limit.
    @id(0x16000006) register<bit<32>>(QUEUE_CELLS) heard_headroom;
    @id(0x16000007) register<bit<32>>(QUEUE_CELLS) heard_depth;

    apply {
        queue_depth.read(n, cell);
        if (heard) {
            heard_headroom.write(cell, (bit<32>)r ^ (bit<32>)RATE_MAX);
            heard_depth.write(cell, next_n);
        } else {
            bit<32> headroom;
            heard_headroom.read(headroom, cell);
            r = (rate_t)(headroom ^ (bit<32>)RATE_MAX);
            heard_depth.read(next_n, cell);
        }
    }
}

// The rate at which the queue is served: no limit before it is first written.
control QueueRate(in bit<32> cell, in rate_t value) {
    @id(0x16000004) @name(".queue_rate") @groupflow_queue_rate(8)
    register<bit<32>>(QUEUE_CELLS) queue_rate;

    apply {
        queue_rate.write(cell, (bit<32>)value);
    }
}

// L of eq. 13. 0xffffffff: the port sets no limit.
control QueueShare(in bit<32> cell, out bit<32> value) {
    @id(0x16000005) @name(".queue_share") @groupflow_queue_share(8)
    register<bit<32>>(QUEUE_CELLS) queue_share;

    apply {
        queue_share.read(value, cell);
    }
}

// The joint report of the branches that ticked in this round, this one included.
control BranchReports(in flow_t flow, in combine_t combine, inout bit<32> n, inout bit<32> r) {
    @id(0x16000008) register<bit<32>>(MAX_FLOWS) report_depth;
    @id(0x16000009) register<bit<32>>(MAX_FLOWS) report_rate;

    apply {
        bit<32> other_n;
        bit<32> other_r;
        report_depth.read(other_n, (bit<32>)flow);
        report_rate.read(other_r, (bit<32>)flow);
        if (combine == COMBINE_SLOWEST && other_n > n || combine == COMBINE_FASTEST && other_n < n) {
            n = other_n;
        }
        if (combine == COMBINE_SLOWEST && other_r < r || combine == COMBINE_FASTEST && other_r > r) {
            r = other_r;
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
            left_behind.write(((bit<32>)port << 3) + (bit<32>)bridged.queue, depth);
        }
    }
}
