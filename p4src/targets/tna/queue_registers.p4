// The registers of diffusion.p4, Tofino 2 only. Index: the flow's cell, egress port * 8 + queue; of
// BranchReports: the flow. A port has 16 queues, of which the first 8 are used. The cell of a report is right
// where the driver carves queues by default, and where its pipe numbers are the chip's.
//
// P4 cannot set the rate of a queue: a program beside the driver reads `queue_rate`, sets the shaper of that
// queue to it, and writes `queue_share`. The traffic manager counts cells of its buffer, not packets: where
// frames are longer than a cell, D is for cells.

// n wait now, as the traffic manager told the ghost thread, to which the queue must be visible.
@id(0x16000003) @name(".queue_depth") Register<bit<32>, cell_t>(QUEUE_CELLS, 0) queue_depth;

control GroupflowGhost(in ghost_intrinsic_metadata_t ghost) {
    RegisterAction<bit<32>, cell_t, bit<32>>(queue_depth) put = {
        void apply(inout bit<32> depth) { depth = (bit<32>)ghost.qlength; }
    };

    apply {
        put.execute(ghost.pipe_id ++ ghost.qid[10:4] ++ ghost.qid[2:0]);
    }
}

control QueueDepth(in cell_t cell, out int<32> n) {
    RegisterAction<bit<32>, cell_t, bit<32>>(queue_depth) recall = {
        void apply(inout bit<32> depth, out bit<32> result) { result = depth; }
    };

    apply {
        n = (int<32>)recall.execute(cell);
    }
}

// The report of the downstream neighbour: feedback's is kept, a tick recalls it.
control HeardReport(in headers_t hdr, in cell_t cell, inout rate_t r, inout int<32> next_n) {
    // RATE_MAX - r_i: 0, as registers start, is no limit.
    @id(0x16000006) Register<rate_t, cell_t>(QUEUE_CELLS, 0) heard_headroom;
    @id(0x16000007) Register<int<32>, cell_t>(QUEUE_CELLS, 0) heard_depth;
    RegisterAction<rate_t, cell_t, rate_t>(heard_headroom) keep_headroom = {
        void apply(inout rate_t headroom) { headroom = r; }
    };
    RegisterAction<rate_t, cell_t, rate_t>(heard_headroom) recall_headroom = {
        void apply(inout rate_t headroom, out rate_t result) { result = headroom; }
    };
    RegisterAction<int<32>, cell_t, int<32>>(heard_depth) keep_depth = {
        void apply(inout int<32> depth) { depth = next_n; }
    };
    RegisterAction<int<32>, cell_t, int<32>>(heard_depth) recall_depth = {
        void apply(inout int<32> depth, out int<32> result) { result = depth; }
    };
    STEP(to_headroom, r = r ^ RATE_MAX;)
    STEP(from_headroom, r = r ^ RATE_MAX;)

    apply {
        to_headroom.apply();
        if (hdr.feedback.isValid()) {
            keep_headroom.execute(cell);
            keep_depth.execute(cell);
        } else {
            r = recall_headroom.execute(cell);
            next_n = recall_depth.execute(cell);
        }
        from_headroom.apply();
    }
}

// The rate at which the queue is to be served.
control QueueRate(in cell_t cell, in rate_t value) {
    @id(0x16000004) @name(".queue_rate") Register<rate_t, cell_t>(QUEUE_CELLS, 0) queue_rate;
    RegisterAction<rate_t, cell_t, rate_t>(queue_rate) put = {
        void apply(inout rate_t rate) { rate = value; }
    };

    apply {
        put.execute(cell);
    }
}

// L of eq. 13, at most RATE_MAX. 0xffffffff: the port sets no limit.
control QueueShare(in cell_t cell, out rate_t share) {
    @id(0x16000005) @name(".queue_share")
    Register<bit<32>, cell_t>(QUEUE_CELLS, 0xffffffff) queue_share;
    RegisterAction<bit<32>, cell_t, bit<32>>(queue_share) recall = {
        void apply(inout bit<32> value, out bit<32> result) { result = min(value, (bit<32>)RATE_MAX); }
    };

    apply {
        share = (rate_t)recall.execute(cell);
    }
}

// The joint report of the branches that ticked in this round, this one included.
#define JOINED(NAME, REGISTER, OPERATION)                                           \
    RegisterAction<int<32>, flow_t, int<32>>(REGISTER) NAME = {                     \
        void apply(inout int<32> joined, out int<32> result) {                      \
            joined = OPERATION;                                                     \
            result = joined;                                                        \
        }                                                                           \
    };

control BranchReports(in flow_t flow, in combine_t combine, inout int<32> n, inout rate_t r) {
    @id(0x16000008) Register<int<32>, flow_t>(MAX_FLOWS, 0) report_depth;
    @id(0x16000009) Register<int<32>, flow_t>(MAX_FLOWS, 0) report_rate;
    JOINED(first_n, report_depth, n)
    JOINED(longest_n, report_depth, max(joined, n))
    JOINED(shortest_n, report_depth, min(joined, n))
    JOINED(first_r, report_rate, r)
    JOINED(slowest_r, report_rate, min(joined, r))
    JOINED(fastest_r, report_rate, max(joined, r))

    apply {
        if (combine == COMBINE_FIRST) {
            n = first_n.execute(flow);
            r = first_r.execute(flow);
        } else if (combine == COMBINE_SLOWEST) {
            n = longest_n.execute(flow);
            r = slowest_r.execute(flow);
        } else {
            n = shortest_n.execute(flow);
            r = fastest_r.execute(flow);
        }
    }
}
