// Unicast IPv4 and ARP, so that ping, iperf3 and TCP work beside the sessions.

control Forwarding(inout headers_t hdr, inout metadata_t meta) {
    ipv4_addr_t requested_ip;

    @id(0x01000005) action arp_reply(@id(1) mac_addr_t mac) {
        hdr.ethernet.dst = hdr.arp.sender_mac;
        hdr.ethernet.src = mac;
        requested_ip = hdr.arp.target_ip;
        hdr.arp.operation = 2;
        hdr.arp.target_mac = hdr.arp.sender_mac;
        hdr.arp.target_ip = hdr.arp.sender_ip;
        hdr.arp.sender_mac = mac;
        hdr.arp.sender_ip = requested_ip;
        meta.egress_port = meta.ingress_port;
    }

    @id(0x01000006) action no_arp() {
        meta.drop_reason = DROP_NO_ARP;
    }

    // Answers ARP requests for an address with the switch's own MAC (proxy ARP): every packet is then routed,
    // even between two hosts of one subnet, because they sit on different ports. Any address is legal.
    // Written by: the controller, at start, from the topology, for each host and gateway.
    @id(0x02000003)
    table arp_responder {
        key = { hdr.arp.target_ip : exact @id(1) @name("target_ip"); }
        actions = { arp_reply; @defaultonly no_arp; }
        const default_action = no_arp();
        size = MAX_ARP_ENTRIES;
    }

    @id(0x01000007) action admit_to_l3() { }

    @id(0x01000008) action not_for_us() {
        meta.drop_reason = DROP_NOT_FOR_US;
    }

    // The MACs this switch answers to: its router MAC.
    // Written by: the controller, at start.
    @id(0x02000004) @entry_restriction(LEGAL(dst_mac != 0))
    table l3_admit {
        key = { hdr.ethernet.dst : exact @id(1) @name("dst_mac"); }
        actions = { admit_to_l3; @defaultonly not_for_us; }
        const default_action = not_for_us();
        size = MAX_ROUTER_MACS;
    }

    @id(0x01000009) @action_restriction(LEGAL(IS_LINK(port)))
    action route(@id(1) port_id_t port, @id(2) mac_addr_t src, @id(3) mac_addr_t dst) {
        meta.egress_port = port;
        hdr.ethernet.src = src;
        hdr.ethernet.dst = dst;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    @id(0x0100000a) action no_route() {
        meta.drop_reason = DROP_NO_ROUTE;
    }

    @id(0x0100000b) action refuse() {
        meta.bridged.refused = 1;
    }

    // Next hop of a unicast packet. The prefix of the TCP sessions' addresses is refused (refusal.p4), but
    // for each session that an agent serves, whose address is routed to the agent. Any prefix is legal.
    // Written by: the controller, along shortest paths: hosts and the prefix at start, a session when it is
    // created or an agent comes or goes.
    @id(0x02000005)
    table ipv4_route {
        key = { hdr.ipv4.dst : lpm @id(1) @name("ipv4_dst"); }
        actions = { route; refuse; @defaultonly no_route; }
        const default_action = no_route();
        size = MAX_ROUTES;
    }

    apply {
        if (hdr.arp.isValid()) {
            // RFC 5227: a host without an address probes whether another has the one that it wants. A host
            // that asks for its own address announces it. An answer would say that another has it.
            if (hdr.arp.operation != 1 || meta.neighbour == NEIGHBOUR_CONTROLLER) {
                meta.drop_reason = DROP_NO_ARP;
            } else if (hdr.arp.sender_ip == 0 || hdr.arp.sender_ip == hdr.arp.target_ip) {
                meta.drop_reason = ABSORBED;
            } else {
                arp_responder.apply();
            }
        } else if (hdr.group.isValid() && hdr.group.type != TYPE_REPAIR && hdr.group.type != TYPE_SYNC) {
            // From host to host go a cache's repairs, and its word where the stream is to a receiver whose
            // branch was taken out of it. A REPLY forged by a host must not reach another.
            meta.drop_reason = DROP_NOT_CONTROLLER;
        } else if (hdr.group.isValid() && meta.neighbour == NEIGHBOUR_HOST) {
            meta.drop_reason = DROP_NOT_AGENT;
        } else if (l3_admit.apply().hit) {
            ipv4_route.apply();
        }
    }
}
