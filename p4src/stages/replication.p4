// One packet in, one copy a branch out. Ingress picks the group; the replication engine copies; egress
// addresses each copy to its neighbour.

control Replication(in headers_t hdr, inout metadata_t meta) {
    apply {
        // Data flows down from the sender's side only; a cache agent may multicast repairs below its own
        // switch.
        if (meta.from_upstream == 1
            || (meta.bridged.from_agent == 1 && hdr.group.type == TYPE_REPAIR)) {
            meta.group = meta.stream.data_group;
            // SYNC asks for what was sent before it, and so must not overtake it.
            meta.bridged.queue = meta.stream.queue;
            if (meta.group == 0) {
                meta.drop_reason = ABSORBED;   // no branch below takes it yet
            }
        } else {
            meta.drop_reason = DROP_WRONG_PORT;
        }
    }
}

control Neighbours(inout headers_t hdr, in bit<16> instance) {
    // Packets and bytes sent to each neighbour.
    @id(0x13000002) ENTRY_COUNTER(packets_and_bytes) neighbour_counter;

    // A host hears the group at its own address and the port it joined from.
    @id(0x0100000d)
    action to_host(@id(1) mac_addr_t src, @id(2) mac_addr_t dst, @id(3) ipv4_addr_t ip, @id(4) bit<16> port) {
        hdr.ethernet.src = src;
        hdr.ethernet.dst = dst;
        hdr.ipv4.dst = ip;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        hdr.udp.dst_port = port;
        hdr.udp.checksum = 0;
        neighbour_counter.count(EGRESS_EXTRA);
    }

    // The next switch takes it as it is, still addressed to the group.
    @id(0x0100000e) action to_switch(@id(1) mac_addr_t src, @id(2) mac_addr_t dst) {
        hdr.ethernet.src = src;
        hdr.ethernet.dst = dst;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        hdr.udp.checksum = 0;
        neighbour_counter.count(EGRESS_EXTRA);
    }

    // Addresses a copy made by the replication engine. The key is the instance of the replica, which the
    // controller chooses as the number of the neighbour, so that one entry serves all sessions that go there.
    // Written by: the controller, before the first group that names the neighbour.
    @id(0x02000006) @entry_restriction(LEGAL(instance != 0))
    table neighbours {
        key = { instance : exact @id(1) @name("instance"); }
        actions = { to_host; to_switch; @defaultonly NoAction; }
        const default_action = NoAction();
        counters = neighbour_counter;
        size = MAX_NEIGHBOURS;
    }

    apply {
        neighbours.apply();
    }
}
