// Lets no host speak for another. It runs behind validation, before any stage that acts on a packet.
//
//   from a host's port      an address that is not the host's              --> spoofed
//                           a probe of a link                              --> not_switch
//   from any port, as UDP   a group header behind other ports              --> foreign_group
//                           a fragment with a group header, or that may
//                           hold part of one                               --> fragment
//
// The stages that act on a session's packets say which of them a port may send (streams.p4, forwarding.p4).
//
// A host's kernel joins fragments and hands the datagram to the socket of its port, where a session may
// listen. So the first fragment must hold all that the switch judges: UDP's header and 24 bytes. A fragment
// that would lie over these bytes is dropped; no sender makes one (RFC 1858). Any other datagram in fragments
// passes.

// Tells whether 24 bytes that look like a group header have its checksum (RFC 1071). Of random datagrams 1 in
// 2^36 has version, type, session and checksum of one.
control ForeignGroup(in group_header_t group, out bool is_group) {
    bit<32> sum;

    apply {
        sum = (bit<32>)(group.version ++ group.type) + (bit<32>)(group.flags ++ group.poll)
            + (bit<32>)group.session[31:16] + (bit<32>)group.session[15:0]
            + (bit<32>)group.source + (bit<32>)group.member
            + (bit<32>)group.seq[31:16] + (bit<32>)group.seq[15:0]
            + (bit<32>)group.stamp[31:16] + (bit<32>)group.stamp[15:0]
            + (bit<32>)group.length + (bit<32>)group.checksum;
        sum = (bit<32>)sum[31:16] + (bit<32>)sum[15:0];
        is_group = sum == 0xffff;   // a carry would leave no more than the number of words
    }
}

control Guard(in headers_t hdr, inout metadata_t meta) {
    ForeignGroup() foreign_group;

    ipv4_address_t source;   // 0: the frame has none
    // Bits in which the packet's addresses differ from the port's; of an agent's port, from those of the TCP
    // sessions that it ends.
    mac_t strange;
    mac_t strange_session;

    @id(0x01000016) @action_restriction(LEGAL(mac != 0 && ip != 0))
    action host(mac_t mac, ipv4_address_t ip) {
        meta.neighbour = NEIGHBOUR_HOST;
        strange = (hdr.ethernet.src ^ mac) | (mac_t)(source ^ ip);
    }

    @id(0x01000017) @action_restriction(LEGAL(mac != 0 && ip != 0 && mask != 0))
    action agent(mac_t mac, ipv4_address_t ip, ipv4_address_t sessions, ipv4_address_t mask) {
        meta.neighbour = NEIGHBOUR_AGENT;
        strange = (hdr.ethernet.src ^ mac) | (mac_t)(source ^ ip);
        strange_session = (hdr.ethernet.src ^ mac) | (mac_t)((source ^ sessions) & mask);
    }

    // The host behind a port, and the addresses that it may send from. A split agent also sends from the
    // addresses of the TCP sessions that it ends. A port without an entry is a neighbour switch's, which has
    // guarded its own ports, or the controller's: it may send from any address. So the guard is open on a
    // switch without entries.
    // Written by: the controller, at start, from the topology, for each port that leads to a host.
    // Beside the restriction: the addresses of TCP sessions are those that equal `sessions` under `mask`.
    @id(0x0200000c) @entry_restriction(LEGAL(meta.ingress_port != 0))
    table port_sources {
        key = { meta.ingress_port : exact; }
        actions = { host; agent; @defaultonly NoAction; }
        const default_action = NoAction();
        size = MAX_PORTS;
    }

    apply {
        meta.neighbour = NEIGHBOUR_SWITCH;
        strange = 0;
        source = 0;
        if (hdr.ipv4.isValid()) {
            source = hdr.ipv4.src;
        } else if (hdr.arp.isValid()) {
            source = hdr.arp.sender_ip;
        }
        strange_session = 1;
        port_sources.apply();
        // An ARP probe (RFC 5227) comes from no address yet; forwarding.p4 drops it.
        bool arp_probe = hdr.arp.isValid() && source == 0;
        if (strange != 0 && strange_session != 0 && !arp_probe) {
            meta.drop_reason = hdr.probe.isValid() ? DROP_NOT_SWITCH : DROP_SPOOFED;
        }
        if (hdr.ipv4.isValid() && hdr.ipv4.protocol == PROTOCOL_UDP) {
            if (hdr.foreign.isValid()) {
                bool is_group;
                foreign_group.apply(hdr.foreign, is_group);
                if (is_group) {
                    meta.drop_reason = DROP_FOREIGN_GROUP;
                }
            }
            if (hdr.ipv4.fragment_offset != 0) {
                if (hdr.ipv4.fragment_offset < IPV4_BEHIND_GROUP) {
                    meta.drop_reason = DROP_FRAGMENT;
                }
            } else if ((hdr.ipv4.flags & IPV4_MORE_FRAGMENTS) != 0
                       && (hdr.group.isValid()
                           || hdr.ipv4.total_length < IPV4_BYTES + UDP_BYTES + GROUP_BYTES)) {
                meta.drop_reason = DROP_FRAGMENT;
            }
        }
    }
}
