// Diffusion-type flow control (Takano et al., section 2): each node sets the rate of a flow's queue from what
// its downstream neighbour reported, and reports to its upstream neighbour once a link delay.
// docs/explanation/diffusion.md explains it.
//
//   feedback (r_i, n_i+1) from downstream -->  keep both;
//                                              queue_rate = max(0, J~_i(alpha)),
//                                              J~_i(alpha) = alpha r_i - D_i (n_i+1 - n_i)    (eq. 2)
//   tick of the packet generator          -->  r_i-1 = max(0, min(L_i, J~_i(1)))              (eq. 1, 5)
//                                              feedback (r_i-1, n_i) to upstream              (eq. 4)
//   at the network's edge, in egress      -->  r_0 = alpha J_1(1) - D_0 n_1                   (eq. 9)
//
// A tick computes J~_i(1) from n_i as it is then, not as it was when feedback came: the r and the n of a
// report must be of one moment, or oscillations grow from node to node (docs/explanation/diffusion.md).
//
// Numbers: rates are Q26.6 packets/s in 32 bits (1/64 packet/s), signed where a formula can go below 0. All
// additions saturate; n is clamped to 2^30-1, n_i+1 - n_i to the controller's limit. D n is exact within it;
// a term 2^-k of alpha rounds towards minus infinity, so alpha r is off by less than 1/64 packet/s for each
// such term.
//
// A chip has the lookups and the queue's depth in ingress, and the rest in the egress of one port, where all
// pipes meet.

// The controller's parameters of the link behind a queue.
struct link_t {
    coefficient_t alpha;
    coefficient_t d;         // D_i = D / d_i, 1/s
    int<32>       limit;     // largest |n_i+1 - n_i|: 64 * limit * (any term of d, or sum of them) < 2^31
}

// Feedback, a tick, or a report for a host that shapes, and the queue it is about.
BRIDGED hop_t {
    @flexible cell_t    cell;
    @flexible link_t    link;
    @flexible rate_t    r;           // r_i: told by feedback, or as last heard
    @flexible int<32>   next_n;      // n_i+1, likewise
    @flexible int<32>   n;
    @flexible rate_t    line_rate;   // the last node's J~: its link's rate, as none is known behind; else 0
    @flexible bit<1>    send;        // the report goes to upstream_port
    @flexible port_id_t upstream_port;
    @flexible combine_t combine;
}

// j = J~_i(alpha), eq. 2. Eq. 9 is the same for node 0, where no packet waits.
control Demand(inout hop_t hop, out rate_t j) {
    TimesAlpha() times_alpha;
    TimesDiffusion() times_diffusion;
    rate_t diffusion;

    // From here on next_n is n_i+1 - n_i, and behind bound_above the limit is the lower one.
    STEP(subtract, hop.next_n = hop.next_n - hop.n;)
    STEP(bound_above,
         hop.next_n = signed_minimum(hop.next_n, hop.link.limit);
         hop.link.limit = -hop.link.limit;)
    STEP(bound_below, hop.next_n = signed_maximum(hop.next_n, hop.link.limit);)
    STEP(join, j = j |-| diffusion;)

    apply {
        times_alpha.apply(hop.link.alpha, hop.r, j);
        subtract.apply();
        bound_above.apply();
        bound_below.apply();
        times_diffusion.apply(hop.link.d, hop.next_n, diffusion);
        join.apply();
    }
}

// Feedback: the neighbour it comes from, and the queue it is for.
control Feedback(in headers_t hdr, inout metadata_t meta, inout hop_t hop) {
    // Feedback taken from each downstream neighbour.
    @id(0x13000005) ENTRY_COUNTER(packets) feedback_counter;

    @id(0x01000011)
    action from_downstream(@id(1) cell_t to_cell, @id(2) int<32> limit, @id(3) term_t alpha_a,
                           @id(4) term_t alpha_b, @id(5) term_t alpha_c, @id(6) term_t d_a,
                           @id(7) term_t d_b, @id(8) term_t d_c) {
        hop.cell = to_cell;
        hop.link = { { alpha_a, alpha_b, alpha_c }, { d_a, d_b, d_c }, limit };
        hop.line_rate = 0;
        hop.send = 0;
        feedback_counter.count();
    }

    @id(0x01000012) action wrong_neighbour() {
        meta.drop_reason = DROP_WRONG_NEIGHBOUR;
    }

    // The neighbours whose feedback is taken, and the queue it is for: one entry for each downstream
    // neighbour that takes part.
    // Written by: the controller when a flow is installed.
    // Not in the restriction: to_cell = ingress_port * 8 + the flow's queue; terms as in scaling.p4,
    // limit as in link_t, from the link's delay.
    @id(0x02000009)
    @entry_restriction(LEGAL(flow > 0 && flow < MAX_FLOWS && ingress_port != CPU_PORT))
    table feedback_sources {
        key = {
            hdr.feedback.flow : exact @id(1) @name("flow");
            meta.ingress_port : exact @id(2) @name("ingress_port");
        }
        actions = { from_downstream; @defaultonly wrong_neighbour; }
        const default_action = wrong_neighbour();
        counters = feedback_counter;
        size = MAX_FLOWS;
    }

    apply {
        feedback_sources.apply();
        hop.r = hdr.feedback.r;
        hop.next_n = depth_of(hdr.feedback.n);
    }
}

// A tick: the queue it reports of, and the port it reports to.
control Tick(in headers_t hdr, inout metadata_t meta, inout hop_t hop) {
    // Ticks of each branch.
    @id(0x13000006) ENTRY_COUNTER(packets) tick_counter;

    @id(0x01000013) @action_restriction(LEGAL((send == 0 || IS_LINK(to_port)) && combine <= 2))
    action report(@id(1) cell_t of_cell, @id(2) int<32> limit, @id(3) term_t d_a, @id(4) term_t d_b,
                  @id(5) term_t d_c, @id(6) rate_t line_rate, @id(7) bit<1> send, @id(8) port_id_t to_port,
                  @id(9) combine_t combine) {
        hop.cell = of_cell;
        hop.link = { { ONE, NO_TERM, NO_TERM }, { d_a, d_b, d_c }, limit };
        hop.line_rate = line_rate;
        hop.send = send;
        hop.upstream_port = to_port;
        hop.combine = combine;
        tick_counter.count();
    }

    @id(0x01000014) action unknown_flow() {
        meta.drop_reason = DROP_UNKNOWN_FLOW;
    }

    // The queue that a tick reports of, and the port it reports to. A flow has as many branches as it has
    // downstream neighbours here, mostly one. Their ticks come one after the other: the first has
    // COMBINE_FIRST, and only the last has `send`, to report for all to the node at to_port.
    // Written by: the controller when a flow is installed.
    // Not in the restriction: of_cell = the branch's egress port * 8 + queue; terms and limit are those
    // of the link downstream; line_rate is 0, or where no neighbour follows that takes part the link's rate,
    // at most RATE_MAX; none has `send` where nobody upstream listens.
    @id(0x0200000a)
    @entry_restriction(LEGAL(flow > 0 && flow < MAX_FLOWS && branch <= LAST_BRANCH))
    table ticks {
        key = {
            hdr.tick.flow   : exact @id(1) @name("flow");
            hdr.tick.branch : exact @id(2) @name("branch");
        }
        actions = { report; @defaultonly unknown_flow; }
        const default_action = unknown_flow();
        counters = tick_counter;
        size = MAX_FLOWS;
    }

    apply {
        if (meta.ingress_port == GENERATOR_PORT || meta.ingress_port == CPU_PORT) {
            ticks.apply();
        } else {
            meta.drop_reason = DROP_NOT_GENERATOR;
        }
    }
}

// Looks up what feedback or a tick is about.
control Hops(in headers_t hdr, inout metadata_t meta, inout hop_t hop) {
    Feedback() feedback;
    Tick() tick;
    QueueDepth() depth;

    apply {
        if (hdr.feedback.isValid()) {
            feedback.apply(hdr, meta, hop);
        } else {
            tick.apply(hdr, meta, hop);
        }
        if (meta.drop_reason == DROP_NONE) {
            depth.apply(hop.cell, hop.n);
        }
    }
}

// The rate of the queue, and the answer to a tick: eq. 1 bounds J~, and the joint report of the branches goes
// upstream (eq. 4, 5).
control Report(inout headers_t hdr, inout metadata_t meta, inout hop_t hop, inout rate_t j) {
    QueueShare() queue_share;
    BranchReports() branch_reports;
    QueueRate() queue_rate;
    int<32> share;   // L of eq. 13, at most RATE_MAX

    STEP(bound_above, j = signed_minimum(j, share);)
    STEP(bound_below, j = signed_maximum(j, 0);)

    apply {
        share = RATE_MAX;
        if (hdr.tick.isValid()) {
            queue_share.apply(hop.cell, share);
        }
        bound_above.apply();
        bound_below.apply();
        if (hdr.feedback.isValid()) {
            hop.line_rate = j;
        }
        if (hdr.feedback.isValid() || hop.line_rate != 0) {
            queue_rate.apply(hop.cell, hop.line_rate);
        }
        if (hdr.tick.isValid()) {
            branch_reports.apply(hdr.tick.flow, hop.combine, hop.n, j);
        }
        if (hop.send == 0) {
            meta.drop_reason = ABSORBED;
        } else {
            hdr.feedback.setValid();
            hdr.feedback.flow = hdr.tick.flow;
            hdr.feedback.flags = 0;
            hdr.feedback.r = j;
            hdr.feedback.n = (bit<32>)hop.n;
            hdr.tick.setInvalid();
            hdr.ethernet.ethertype = ETHERTYPE_FEEDBACK;
            meta.bridged.queue = QUEUE_FEEDBACK;
            meta.egress_port = hop.upstream_port;
        }
    }
}

// In egress: a report for a host that shapes its flow to the rate in it (eq. 9).
control ExternalReports(in headers_t hdr, in port_id_t port, inout hop_t hop, out bit<1> external) {
    @id(0x01000015)
    action report_external(@id(1) int<32> limit, @id(2) term_t alpha_a, @id(3) term_t alpha_b,
                           @id(4) term_t alpha_c, @id(5) term_t d_a, @id(6) term_t d_b, @id(7) term_t d_c) {
        hop.link = { { alpha_a, alpha_b, alpha_c }, { d_a, d_b, d_c }, limit };
        hop.r = hdr.feedback.r;
        hop.next_n = depth_of(hdr.feedback.n);
        hop.n = 0;
    }

    // The hosts that shape, by flow and port.
    // Written by: the controller when a flow is installed.
    // Not in the restriction: terms and limit are those of the link to the host.
    @id(0x0200000b)
    @entry_restriction(LEGAL(flow > 0 && flow < MAX_FLOWS && egress_port != CPU_PORT))
    table external_reports {
        key = {
            hdr.feedback.flow : exact @id(1) @name("flow");
            port              : exact @id(2) @name("egress_port");
        }
        actions = { report_external; @defaultonly NoAction; }
        const default_action = NoAction();
        size = MAX_FLOWS;
    }

    apply {
        external = 0;
        if (hdr.feedback.isValid()) {
            if (external_reports.apply().hit) {
                external = 1;
            }
        }
    }
}
