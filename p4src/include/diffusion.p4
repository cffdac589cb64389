// Diffusion-type flow control (Takano et al., section 2): each node sets the rate of a flow's queue from what its
// downstream neighbour reported, and reports to its upstream neighbour once a link delay. docs/diffusion.md explains it.
//
//   feedback (r_i, n_i+1) from downstream -->  keep both;
//                                              queue_rate = max(0, J~_i(alpha)),
//                                              J~_i(alpha) = alpha r_i - D_i (n_i+1 - n_i)    (eq. 2)
//   tick of the packet generator          -->  r_i-1 = max(0, min(L_i, J~_i(1)))              (eq. 1, 5)
//                                              feedback (r_i-1, n_i) to upstream              (eq. 4)
//   at the network's edge, a tick more    -->  r_0 = alpha J_1(1) - D_0 n_1                   (eq. 9)
//
// A tick computes J~_i(1) from n_i as it is then, not as it was when feedback came: the r and the n of a report must be
// of one moment, or oscillations grow from node to node (docs/diffusion.md).
//
// Numbers: rates are Q26.6 packets/s in 32 bits (1/64 packet/s), signed where a formula can go below 0. All additions
// saturate; n is clamped to 2^30-1, n_i+1 - n_i to the controller's limit. D n is exact within it; a term 2^-k of alpha
// rounds towards minus infinity, so alpha r is off by less than 1/64 packet/s for each such term.
//
// Each register is accessed once a packet, in the order of apply below.
#ifndef _GROUPFLOW_DIFFUSION_
#define _GROUPFLOW_DIFFUSION_

const bit<32> DEPTH_MAX = 0x3fffffff;   // 2^30-1: the difference of two of them fits in 32 bits

struct coefficients_t {
    coefficient_t alpha;
    coefficient_t d;         // D_i = D / d_i of the link, 1/s
    int<32>       limit;     // largest |n_i+1 - n_i| that d may meet: 64 * limit * (any term or sum of terms) < 2^31
}

// A queue's depth as a signed number.
int<32> packets(in bit<32> n) {
    return n > DEPTH_MAX ? (int<32>)DEPTH_MAX : (int<32>)n;
}

int<32> clamped(in int<32> x, in int<32> limit) {
    return x > limit ? limit : (x < -limit ? -limit : x);
}

// Which queue of its egress port a packet takes.
control Classification(in headers_t hdr, inout metadata_t meta) {
    // Packets and bytes of each rule.
    direct_counter(CounterType.packets_and_bytes) flow_counter;
    direct_counter(CounterType.packets_and_bytes) stream_flow_counter;

    action to_queue(flow_t flow, queue_t queue) {
        meta.flow = flow;
        meta.queue = queue;
        flow_counter.count();
    }

    action stream_to_queue(flow_t flow, queue_t queue) {
        meta.flow = flow;
        meta.queue = queue;
        stream_flow_counter.count();
    }

    // Unicast packets of a controlled flow. Where a port has more flows than queues, all flows that come in by one port
    // share a flow number and a queue (a rule on ingress_port; on the node before, one on egress_port): the control
    // needs no more than a queue an input port.
    // Written by: the controller when a flow is installed. Legal: flow 1 to MAX_FLOWS-1, queue 1 to 6.
    table controlled_flows {
        key = {
            meta.ingress_port : ternary;
            meta.egress_port  : ternary;
            hdr.ipv4.src      : ternary;
            hdr.ipv4.dst      : ternary;
            hdr.ipv4.protocol : ternary;
            meta.src_port     : ternary;
            meta.dst_port     : ternary;
        }
        actions = { to_queue; NoAction; }
        const default_action = NoAction();
        counters = flow_counter;
        size = MAX_FLOW_RULES;
    }

    // What flows down a session's tree. Replicas take the same queue at every port.
    // Written by: the controller when a session is installed. Legal: as above.
    table controlled_streams {
        key = {
            hdr.group.session : exact;
            hdr.group.source  : exact;
        }
        actions = { stream_to_queue; NoAction; }
        const default_action = NoAction();
        counters = stream_flow_counter;
        size = MAX_STREAMS;
    }

    apply {
        if (meta.is_group == 1) {
            // SYNC asks for what was sent before it, and so must not overtake it.
            if (hdr.group.type == TYPE_DATA || hdr.group.type == TYPE_REPAIR || hdr.group.type == TYPE_SYNC) {
                controlled_streams.apply();
            }
        } else if (hdr.ipv4.isValid()) {
            if (hdr.tcp.isValid()) {
                meta.src_port = hdr.tcp.src_port;
                meta.dst_port = hdr.tcp.dst_port;
            } else if (hdr.udp.isValid()) {
                meta.src_port = hdr.udp.src_port;
                meta.dst_port = hdr.udp.dst_port;
            }
            controlled_flows.apply();
        }
    }
}

// How many packets the last one left behind in its queue. gfswitch keeps queue_depth itself; where a traffic manager
// does not (BMv2), the rate agent beside the switch copies this there.
control QueueMirror(in metadata_t meta, in port_t port, in bit<32> depth) {
    register<bit<32>>(QUEUE_CELLS) left_behind;

    apply {
        if (meta.flow != 0) {
            left_behind.write(((bit<32>)port << 3) + (bit<32>)meta.queue, depth);
        }
    }
}

control Diffusion(inout headers_t hdr, inout metadata_t meta) {
    // The first three are the traffic manager's to keep or obey (docs/diffusion.md). Index of these and the next two:
    // the flow's cell, egress port * QUEUES + queue.
    @groupflow_queue_depth(8)
    register<bit<32>>(QUEUE_CELLS) queue_depth;     // packets waiting now
    @groupflow_queue_rate(8)
    register<bit<32>>(QUEUE_CELLS) queue_rate;      // max(0, J~(alpha)); no limit before it is first written
    @groupflow_queue_share(8)
    register<bit<32>>(QUEUE_CELLS) queue_share;     // L of eq. 13; 0xffffffff: the port sets no limit
    register<bit<32>>(QUEUE_CELLS) heard_headroom;  // RATE_MAX - r_i as last heard: 0, as registers start, is no limit
    register<bit<32>>(QUEUE_CELLS) heard_depth;     // n_i+1 as last heard
    // What the branches that ticked in this round come to. Index: flow.
    register<bit<32>>(MAX_FLOWS) report_depth;
    register<bit<32>>(MAX_FLOWS) report_rate;

    // Feedback taken from each downstream neighbour, ticks of each branch.
    direct_counter(CounterType.packets) feedback_counter;
    direct_counter(CounterType.packets) tick_counter;

    bit<32> cell = 0;
    coefficients_t link = { { NO_TERM, NO_TERM, NO_TERM }, { NO_TERM, NO_TERM, NO_TERM }, 0 };
    rate_t last_hop_rate = 0;
    port_t upstream_port = 0;
    bit<1> first = 1;
    bit<1> last = 1;
    bit<1> fastest = 0;
    bit<1> external = 0;
    TimesDiffusion() times_diffusion;
    TimesAlpha() times_alpha;

    action from_downstream(bit<32> to_cell, int<32> limit, term_t alpha_a, term_t alpha_b, term_t alpha_c,
                           term_t d_a, term_t d_b, term_t d_c) {
        cell = to_cell;
        link.limit = limit;
        link.alpha.a = alpha_a;
        link.alpha.b = alpha_b;
        link.alpha.c = alpha_c;
        link.d.a = d_a;
        link.d.b = d_b;
        link.d.c = d_c;
        feedback_counter.count();
    }

    action wrong_neighbour() {
        meta.drop_reason = DROP_WRONG_NEIGHBOUR;
    }

    // Whose feedback is taken, and for which queue: one entry for each downstream neighbour that takes part.
    // Written by: the controller when a flow is installed. Legal: to_cell = ingress_port * QUEUES + the flow's queue;
    // terms as in scaling.p4, limit as in coefficients_t, from the link's delay.
    table feedback_sources {
        key = {
            hdr.feedback.flow : exact;
            meta.ingress_port : exact;
        }
        actions = { from_downstream; wrong_neighbour; }
        const default_action = wrong_neighbour();
        counters = feedback_counter;
        size = MAX_FLOWS;
    }

    // Computes one branch's r and n, and reports them, or what all branches come to, to the next node upstream.
    action report(bit<32> of_cell, int<32> limit, term_t d_a, term_t d_b, term_t d_c, rate_t line_rate, port_t to_port,
                  bit<1> first_branch, bit<1> last_branch, bit<1> fastest_branch) {
        cell = of_cell;
        link.limit = limit;
        link.d.a = d_a;
        link.d.b = d_b;
        link.d.c = d_c;
        last_hop_rate = line_rate;
        upstream_port = to_port;
        first = first_branch;
        last = last_branch;
        fastest = fastest_branch;
        tick_counter.count();
    }

    // Reports what the branches came to, by eq. 9, to a host that shapes what it sends to the rate it is told.
    action report_external(int<32> limit, term_t alpha_a, term_t alpha_b, term_t alpha_c, term_t d_a, term_t d_b,
                           term_t d_c, port_t to_port) {
        link.limit = limit;
        link.alpha.a = alpha_a;
        link.alpha.b = alpha_b;
        link.alpha.c = alpha_c;
        link.d.a = d_a;
        link.d.b = d_b;
        link.d.c = d_c;
        upstream_port = to_port;
        external = 1;
        tick_counter.count();
    }

    action unknown_flow() {
        meta.drop_reason = DROP_UNKNOWN_FLOW;
    }

    // What a tick is to do. A flow has as many branches as it has downstream neighbours here, mostly one. Their ticks
    // come one after the other: the first with first_branch, the last with last_branch, and that one reports, for all.
    // Before report_external no tick has last_branch.
    // Written by: the controller when a flow is installed. Legal: of_cell = the branch's egress port * QUEUES + queue;
    // terms and limit are those of the link downstream, of report_external those of the link to the host;
    // line_rate: 0, or where no neighbour follows that takes part, the link's rate, at most RATE_MAX;
    // to_port: 0 where nobody upstream listens; fastest_branch: 0 reports the slowest (strict), 1 the fastest (isolate).
    table ticks {
        key = {
            hdr.tick.flow   : exact;
            hdr.tick.branch : exact;
        }
        actions = { report; report_external; unknown_flow; }
        const default_action = unknown_flow();
        counters = tick_counter;
        size = MAX_FLOWS;
    }

    apply {
        bool heard = hdr.feedback.isValid();
        if (heard) {
            feedback_sources.apply();
        } else if (meta.ingress_port == GENERATOR_PORT || meta.ingress_port == CPU_PORT) {
            ticks.apply();
        } else {
            meta.drop_reason = DROP_NOT_GENERATOR;
        }

        if (meta.drop_reason == DROP_NONE) {
            bool several = first == 0 || last == 0;

            // n_i, n_i+1 and r_i
            int<32> here = 0;
            int<32> there = 0;
            rate_t r = 0;
            if (external == 0) {
                bit<32> depth;
                queue_depth.read(depth, cell);
                here = packets(depth);
                if (heard) {
                    r = hdr.feedback.r;
                    heard_headroom.write(cell, (bit<32>)r ^ (bit<32>)RATE_MAX);
                    heard_depth.write(cell, hdr.feedback.n);
                    depth = hdr.feedback.n;
                } else {
                    bit<32> headroom;
                    heard_headroom.read(headroom, cell);
                    r = (rate_t)(headroom ^ (bit<32>)RATE_MAX);
                    heard_depth.read(depth, cell);
                }
                there = packets(depth);
            }
            // What is reported of several branches: the largest n, or of the fastest the smallest.
            int<32> reported = here;
            if (external == 1 || several) {
                bit<32> depth;
                report_depth.read(depth, (bit<32>)hdr.tick.flow);
                bool deeper = (bit<32>)here > depth;
                if (external == 1 || (first == 0 && deeper == (fastest == 1))) {
                    reported = (int<32>)depth;
                }
                report_depth.write((bit<32>)hdr.tick.flow, (bit<32>)reported);
            }
            if (external == 1) {
                here = reported;
            }

            rate_t diffusion;   // D_i (n_i+1 - n_i); eq. 9 has nobody before: D_0 (n_1 - 0), turned round
            times_diffusion.apply(link.d, clamped(there - here, link.limit), diffusion);

            // r_i-1
            rate_t target = r;
            if (!heard && external == 0) {
                target = r |-| diffusion;
                bit<32> share;
                queue_share.read(share, cell);
                if (share < (bit<32>)RATE_MAX && (rate_t)share < target) {
                    target = (rate_t)share;
                }
                if (target < 0) {
                    target = 0;
                }
            }
            // Of several branches: the smallest, or the largest.
            if (external == 1 || several) {
                bit<32> other;
                report_rate.read(other, (bit<32>)hdr.tick.flow);
                bool faster = (bit<32>)target > other;
                if (external == 1 || (first == 0 && faster == (fastest == 0))) {
                    target = (rate_t)other;
                }
                report_rate.write((bit<32>)hdr.tick.flow, (bit<32>)target);
            }

            // The queue's rate, from feedback. Behind the last node nothing is known to wait, and the link alone limits:
            // J~ = B there, from the tick.
            rate_t multiplied;
            times_alpha.apply(link.alpha, target, multiplied);
            rate_t rate = heard ? multiplied |-| diffusion : last_hop_rate;
            if (rate < 0) {
                rate = 0;
            }
            if (heard || last_hop_rate != 0) {
                queue_rate.write(cell, (bit<32>)rate);
            }

            if (heard || last == 0 || upstream_port == 0) {
                meta.drop_reason = DROP_ABSORBED;
            } else {
                hdr.feedback.setValid();
                hdr.feedback.flow = hdr.tick.flow;
                hdr.feedback.flags = 0;
                hdr.feedback.r = target;
                hdr.feedback.n = (bit<32>)reported;
                if (external == 1) {
                    hdr.feedback.flags = FLAG_EXTERNAL;
                    hdr.feedback.r = multiplied |+| diffusion;
                }
                hdr.tick.setInvalid();
                hdr.ethernet.ethertype = ETHERTYPE_FEEDBACK;
                meta.queue = QUEUE_FEEDBACK;
                meta.egress_port = upstream_port;
            }
        }
    }
}

#endif
