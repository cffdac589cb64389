// Wire to headers. Rejects nothing: what it cannot read is left invalid, and the validation stage counts and drops it.
#ifndef _GROUPFLOW_PARSER_
#define _GROUPFLOW_PARSER_

parser GroupflowParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    state start {
        transition select(standard_metadata.ingress_port) {
            CPU_PORT: parse_packet_out;
            default:  parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ethertype) {
            ETHERTYPE_ARP:  parse_arp;
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_FEEDBACK: parse_feedback;
            ETHERTYPE_TICK: parse_tick;
            default:        accept;
        }
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

    // Options and fragments end here: the former are refused later, the latter are forwarded by their address.
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.flags & 1, hdr.ipv4.fragment_offset,
                          hdr.ipv4.protocol) {
            (4, 5, 0, 0, PROTOCOL_UDP): parse_udp;
            (4, 5, 0, 0, PROTOCOL_TCP): parse_tcp;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        transition accept;
    }

    // Upstream packets have the port as destination; what an agent sends to one member has it as source.
    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.src_port, hdr.udp.dst_port) {
            (_, UDP_PORT_GROUPFLOW): parse_group;
            (UDP_PORT_GROUPFLOW, _): parse_group;
            default: accept;
        }
    }

    state parse_group {
        packet.extract(hdr.group);
        transition accept;
    }
}

control GroupflowDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.feedback);
        packet.emit(hdr.tick);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.tcp);
        packet.emit(hdr.group);
    }
}

#endif
