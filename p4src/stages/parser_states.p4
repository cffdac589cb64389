// Wire to headers, from packet_out or from Ethernet on: states that each target's parser includes, because a
// parser that calls another clears every header first. They reject nothing: a header they cannot read is left
// invalid, and the validation stage counts and drops the packet. A state matches at most 32 bits, as many as
// chips compare at a time. VERIFY_* stands behind each header that has a checksum, where chips verify it.

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ethertype) {
            ETHERTYPE_ARP:  parse_arp;
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_FEEDBACK: parse_flags;
            ETHERTYPE_TICK: parse_tick;
            default:        accept;
        }
    }

    // Of a probe or of feedback: both have the flags behind 16 other bits.
    state parse_flags {
        transition select(packet.lookahead<bit<32>>()) {
            (bit<32>)FLAG_PROBE &&& (bit<32>)FLAG_PROBE: parse_probe;
            default: parse_feedback;
        }
    }

    state parse_probe {
        packet.extract(hdr.probe);
        transition accept;
    }

    state parse_feedback {
        packet.extract(hdr.feedback);
        transition accept;
    }

    state parse_tick {
        packet.extract(hdr.tick);
        transition accept;
    }

    state parse_arp {
        packet.extract(hdr.arp);
        transition accept;
    }

    // Options and later fragments end here: the former are refused later, the latter are forwarded by their
    // address. Of a UDP datagram's first fragment the headers are read, because they say what it is.
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        VERIFY_IPV4
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.flags, hdr.ipv4.fragment_offset,
                          hdr.ipv4.protocol) {
            (4, 5, _, 0, PROTOCOL_UDP): parse_udp;
            (4, 5, 0 &&& IPV4_MORE_FRAGMENTS, 0, PROTOCOL_TCP): parse_tcp;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        transition accept;
    }

    // Upstream packets have the port as destination; packets from an agent to one member have it as source.
    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.src_port, hdr.udp.dst_port) {
            (_, UDP_PORT_GROUPFLOW): parse_group;
            (UDP_PORT_GROUPFLOW, _): parse_group;
            default: look_for_length;
        }
    }

    // Fewer than 32 bytes hold no group header.
    state look_for_length {
        transition select(hdr.udp.length) {
            0 &&& 0xffe0: accept;
            default: look_for_group;
        }
    }

    // A host takes group packets at any port. Such a packet begins with version 1 and a type below 16;
    // guard.p4 looks at the rest.
    state look_for_group {
        transition select(packet.lookahead<bit<16>>()) {
            0x0100 &&& 0xfff0: parse_foreign;
            default: accept;
        }
    }

    state parse_foreign {
        packet.extract(hdr.foreign);
        VERIFY_FOREIGN
        transition accept;
    }

    state parse_group {
        packet.extract(hdr.group);
        VERIFY_GROUP
        transition accept;
    }
