// The parsers and deparsers. A frame of the packet generator has the generator's header in front.

parser IngressParser(packet_in packet, out headers_t hdr, out local_t local,
                     out ingress_intrinsic_metadata_t intrinsic) {
    Checksum() ipv4_checksum;
    Checksum() group_checksum;
    Checksum() foreign_checksum;

    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        local.stages.bridged.setValid();
        local.stages.bridged = { 0, 0, 0, 0 };
        local.stages.payload_bytes = 0xffff;   // a frame's length is known at egress only
        transition select(intrinsic.ingress_port) {
            CPU_PORT:       parse_packet_out;
            LOOP_PORT:      parse_loop;
            GENERATOR_PORT: parse_generator;
            default:        parse_ethernet;
        }
    }

    state parse_loop {
        packet.extract(local.loop);
        transition parse_ethernet;
    }

    state parse_generator {
        packet.extract(local.generator);
        transition parse_ethernet;
    }
#include "../../stages/parser_states.p4"
}

control IngressDeparser(packet_out packet, inout headers_t hdr, in local_t local,
                        in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply {
        packet.emit(local.stages.bridged);
        packet.emit(local.loop);
#ifdef DIFFUSION
        packet.emit(local.hop);
#endif
        packet.emit(hdr);
    }
}

#undef VERIFY_IPV4
#undef VERIFY_GROUP
#undef VERIFY_FOREIGN
#define VERIFY_IPV4
#define VERIFY_GROUP
#define VERIFY_FOREIGN

parser EgressParser(packet_in packet, out headers_t hdr, out local_t local,
                    out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        packet.extract(local.stages.bridged);
        transition select(intrinsic.egress_port) {
            CPU_PORT:  parse_packet_in;
            LOOP_PORT: parse_loop;
            default:   parse_ethernet;
        }
    }

    state parse_packet_in {
        packet.extract(hdr.packet_in);
        transition parse_ethernet;
    }

    state parse_loop {
        packet.extract(local.loop);
#ifdef DIFFUSION
        transition select(local.loop.kind) {
            LOOP_HOP: parse_hop;
            default:  parse_ethernet;
        }
    }

    state parse_hop {
        packet.extract(local.hop);
#endif
        transition parse_ethernet;
    }
#include "../../stages/parser_states.p4"
}

control EgressDeparser(packet_out packet, inout headers_t hdr, in local_t local,
                       in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    Checksum() ipv4_checksum;
    Checksum() group_checksum;
    Checksum() reset_checksum;

    apply {
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.checksum = ipv4_checksum.update(IPV4_CHECKSUM_FIELDS);
        }
        if (local.stages.bridged.refused == 1) {
            hdr.tcp.checksum = reset_checksum.update(TCP_RESET_CHECKSUM_FIELDS(local.tcp_length));
        }
        if (hdr.group.isValid()) {
            hdr.group.checksum = group_checksum.update({ GROUP_CHECKSUM_FIELDS(hdr.group) });
        }
        packet.emit(local.loop);
        packet.emit(hdr);
    }
}
