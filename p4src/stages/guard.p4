// Lets no host speak for another. It runs behind validation, before any stage that acts on a packet; what it
// compares is looked up before, as chips do that beside validation.
//
//   from a host's port      an address that is not the host's              --> spoofed
//                           a probe of a link; also the controller's       --> not_switch
//   from any port, as UDP   a group header behind other ports              --> foreign_group
//                           a fragment with a group header, or that may
//                           hold part of one                               --> fragment
//
// The stages that act on a session's packets say which of them a port may send (streams.p4, forwarding.p4).
//
// A host's kernel joins fragments and hands the datagram to the socket of its port, where a session may
// listen. So the first fragment must hold all that the switch judges: UDP's header and 24 bytes. One of less
// than 64 bytes is dropped; links carry 68 (RFC 791). A fragment that would lie over these bytes is dropped,
// too; no sender makes one (RFC 1858). Any other datagram in fragments passes.

// A frame's origin, compared with the host behind its port.
struct origin_t {
    ipv4_addr_t source;   // 0: the frame has none
    // Bits in which the packet's addresses differ from the port's; of an agent's port, from those of the TCP
    // sessions that it ends, too, where the mask has bits.
    bit<32>     mac_difference;   // 0: none
    ipv4_addr_t ip_difference;
    ipv4_addr_t session_difference;
}

control Origin(in headers_t hdr, inout metadata_t meta, out origin_t origin) {
    mac_addr_t mac_difference;
    ipv4_addr_t session_mask;

    @id(0x01000016) @action_restriction(LEGAL(mac != 0 && ip != 0))
    action host(@id(1) mac_addr_t mac, @id(2) ipv4_addr_t ip) {
        meta.neighbour = NEIGHBOUR_HOST;
        mac_difference = hdr.ethernet.src ^ mac;
        origin.ip_difference = origin.source ^ ip;
    }

    @id(0x01000017) @action_restriction(LEGAL(mac != 0 && ip != 0 && mask != 0))
    action agent(@id(1) mac_addr_t mac, @id(2) ipv4_addr_t ip, @id(3) ipv4_addr_t sessions,
                 @id(4) ipv4_addr_t mask) {
        meta.neighbour = NEIGHBOUR_AGENT;
        mac_difference = hdr.ethernet.src ^ mac;
        origin.ip_difference = origin.source ^ ip;
        origin.session_difference = origin.source ^ sessions;
        session_mask = mask;
    }

    // The host behind a port, and the addresses that it may send from. A split agent also sends from the
    // addresses of the TCP sessions that it ends. A port without an entry is a neighbour switch's, which has
    // guarded its own ports, or the controller's: it may send from any address. So the guard is open on a
    // switch without entries.
    // Written by: the controller, at start, from the topology, for each port that leads to a host.
    // Not in the restriction: the addresses of TCP sessions are those that equal `sessions` under `mask`.
    @id(0x0200000c) @entry_restriction(LEGAL(ingress_port != CPU_PORT))
    table port_sources {
        key = { meta.ingress_port : exact @id(1) @name("ingress_port"); }
        actions = { host; agent; @defaultonly NoAction; }
        const default_action = NoAction();
        size = MAX_PORTS;
    }

    STEP(compare,
         origin.mac_difference = mac_difference[31:0] | (bit<32>)mac_difference[47:32];
         origin.session_difference = origin.session_difference & session_mask;)

    apply {
        meta.neighbour = NEIGHBOUR_SWITCH;
        if (meta.ingress_port == CPU_PORT) {
            meta.neighbour = NEIGHBOUR_CONTROLLER;
        }
        origin.source = 0;
        if (hdr.ipv4.isValid()) {
            origin.source = hdr.ipv4.src;
        } else if (hdr.arp.isValid()) {
            origin.source = hdr.arp.sender_ip;
        }
        mac_difference = 0;
        origin.ip_difference = 0;
        origin.session_difference = 0xffffffff;
        session_mask = 0xffffffff;
        port_sources.apply();
        compare.apply();
    }
}

// Judges the frame's addresses by its origin.
control Spoofing(in headers_t hdr, in origin_t origin, inout metadata_t meta) {
    apply {
        if (hdr.probe.isValid() && meta.neighbour != NEIGHBOUR_SWITCH) {
            meta.drop_reason = DROP_NOT_SWITCH;
        } else if (hdr.arp.isValid() && origin.source == 0) {
            // An ARP probe (RFC 5227) comes from no address yet; forwarding.p4 absorbs it.
        } else if (origin.mac_difference != 0) {
            meta.drop_reason = DROP_SPOOFED;
        } else if (origin.ip_difference != 0) {
            if (origin.session_difference != 0) {
                meta.drop_reason = DROP_SPOOFED;
            }
        }
    }
}

control Guard(in headers_t hdr, in origin_t origin, inout metadata_t meta) {
    Spoofing() spoofing;

    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.protocol == PROTOCOL_UDP) {
            if (hdr.ipv4.fragment_offset != 0 && hdr.ipv4.fragment_offset < IPV4_BEHIND_GROUP) {
                meta.drop_reason = DROP_FRAGMENT;
            } else if (hdr.udp.isValid() && (hdr.ipv4.flags & IPV4_MORE_FRAGMENTS) != 0
                       && (hdr.group.isValid() || hdr.ipv4.total_length[15:6] == 0)) {
                meta.drop_reason = DROP_FRAGMENT;
            } else if (hdr.foreign.isValid() && meta.foreign_failed == 0 && hdr.foreign.session[31:24] == 0) {
                // Of random datagrams 1 in 2^36 has version, type, session and checksum of a group header.
                meta.drop_reason = DROP_FOREIGN_GROUP;
            } else {
                spoofing.apply(hdr, origin, meta);
            }
        } else {
            spoofing.apply(hdr, origin, meta);
        }
    }
}
