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

control Guard(in headers_t hdr, inout metadata_t meta) {
    ipv4_addr_t source;   // 0: the frame has none
    // Bits in which the packet's addresses differ from the port's; of an agent's port, from those of the TCP
    // sessions that it ends, too, where the mask has bits.
    mac_addr_t mac_difference;
    ipv4_addr_t ip_difference;
    ipv4_addr_t session_difference;
    ipv4_addr_t session_mask;

    @id(0x01000016) @action_restriction(LEGAL(mac != 0 && ip != 0))
    action host(@id(1) mac_addr_t mac, @id(2) ipv4_addr_t ip) {
        meta.neighbour = NEIGHBOUR_HOST;
        mac_difference = hdr.ethernet.src ^ mac;
        ip_difference = source ^ ip;
    }

    @id(0x01000017) @action_restriction(LEGAL(mac != 0 && ip != 0 && mask != 0))
    action agent(@id(1) mac_addr_t mac, @id(2) ipv4_addr_t ip, @id(3) ipv4_addr_t sessions,
                 @id(4) ipv4_addr_t mask) {
        meta.neighbour = NEIGHBOUR_AGENT;
        mac_difference = hdr.ethernet.src ^ mac;
        ip_difference = source ^ ip;
        session_difference = source ^ sessions;
        session_mask = mask;
    }

    // The host behind a port, and the addresses that it may send from. A split agent also sends from the
    // addresses of the TCP sessions that it ends. A port without an entry is a neighbour switch's, which has
    // guarded its own ports, or the controller's: it may send from any address. So the guard is open on a
    // switch without entries.
    // Written by: the controller, at start, from the topology, for each port that leads to a host.
    // Beside the restriction: the addresses of TCP sessions are those that equal `sessions` under `mask`.
    @id(0x0200000c) @entry_restriction(LEGAL(ingress_port != CPU_PORT))
    table port_sources {
        key = { meta.ingress_port : exact @id(1) @name("ingress_port"); }
        actions = { host; agent; @defaultonly NoAction; }
        const default_action = NoAction();
        size = MAX_PORTS;
    }

    apply {
        meta.neighbour = NEIGHBOUR_SWITCH;
        source = 0;
        if (hdr.ipv4.isValid()) {
            source = hdr.ipv4.src;
        } else if (hdr.arp.isValid()) {
            source = hdr.arp.sender_ip;
        }
        mac_difference = 0;
        ip_difference = 0;
        session_difference = 0xffffffff;
        session_mask = 0xffffffff;
        port_sources.apply();
        session_difference = session_difference & session_mask;
        // An ARP probe (RFC 5227) comes from no address yet; forwarding.p4 absorbs it.
        bool arp_probe = hdr.arp.isValid() && source == 0;
        bool strange = mac_difference != 0 || (ip_difference != 0 && session_difference != 0);
        if (strange && !arp_probe) {
            meta.drop_reason = DROP_SPOOFED;
            if (hdr.probe.isValid()) {
                meta.drop_reason = DROP_NOT_SWITCH;
            }
        }
        if (hdr.ipv4.isValid() && hdr.ipv4.protocol == PROTOCOL_UDP) {
            // Of random datagrams 1 in 2^36 has version, type, session and checksum of a group header.
            if (meta.is_foreign_group == 1 && hdr.foreign.session[31:24] == 0) {
                meta.drop_reason = DROP_FOREIGN_GROUP;
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
