// The queue that a packet takes at its egress port: a controlled flow has one of its own.

control Classification(in headers_t hdr, inout metadata_t meta) {
    // Packets and bytes of each rule.
    @id(0x13000003) ENTRY_COUNTER(packets_and_bytes) flow_counter;

    @id(0x0100000f) @action_restriction(LEGAL(queue > 0 && queue <= 6))
    action to_queue(@id(1) queue_id_t queue) {
        meta.bridged.queue = queue;
        flow_counter.count(INGRESS_EXTRA);
    }

    // Unicast packets of a controlled flow. Where a port has more flows than queues, all flows that come in
    // by one port share a flow number and a queue (a rule on ingress_port; on the node before, one on
    // egress_port): the control needs no more than a queue an input port.
    // Written by: the controller when a flow is installed. Any fields are legal.
    @id(0x02000007)
    table controlled_flows {
        key = {
            meta.ingress_port : ternary @id(1) @name("ingress_port");
            meta.egress_port  : ternary @id(2) @name("egress_port");
            hdr.ipv4.src      : ternary @id(3) @name("ipv4_src");
            hdr.ipv4.dst      : ternary @id(4) @name("ipv4_dst");
            hdr.ipv4.protocol : ternary @id(5) @name("ip_protocol");
            meta.src_port     : ternary @id(6) @name("l4_src_port");
            meta.dst_port     : ternary @id(7) @name("l4_dst_port");
        }
        actions = { to_queue; @defaultonly NoAction; }
        const default_action = NoAction();
        counters = flow_counter;
        size = MAX_FLOW_RULES;
    }

    apply {
        if (hdr.ipv4.isValid()) {
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
