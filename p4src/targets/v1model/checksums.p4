// Header checksums only: no switch chip can sum a payload. TCP's is left to the ends, but for resets that a
// switch makes: they have no payload. A rewritten copy of a group packet carries UDP checksum 0, which RFC
// 768 allows over IPv4; the payload is guarded by the frame check of each link and the file's hash at its
// end.

#define IPV4_CHECKSUM_FIELDS                                                        \
    { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp_ecn, hdr.ipv4.total_length,     \
      hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.fragment_offset,            \
      hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst }

#define GROUP_CHECKSUM_FIELDS(GROUP)                                                \
    GROUP.version, GROUP.type, GROUP.flags, GROUP.poll, GROUP.session,              \
    GROUP.source, GROUP.member, GROUP.seq, GROUP.stamp, GROUP.length

// With the pseudo header of RFC 9293, 3.1, of a segment without options and payload.
#define TCP_RESET_CHECKSUM_FIELDS                                                   \
    { hdr.ipv4.src, hdr.ipv4.dst, 8w0, hdr.ipv4.protocol, TCP_BYTES,                \
      hdr.tcp.src_port, hdr.tcp.dst_port, hdr.tcp.seq, hdr.tcp.ack,                 \
      hdr.tcp.data_offset, hdr.tcp.reserved, hdr.tcp.flags, hdr.tcp.window,         \
      hdr.tcp.urgent }

control VerifyChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, IPV4_CHECKSUM_FIELDS, hdr.ipv4.checksum,
                        HashAlgorithm.csum16);
        verify_checksum(hdr.group.isValid(), { GROUP_CHECKSUM_FIELDS(hdr.group) }, hdr.group.checksum,
                        HashAlgorithm.csum16);
    }
}

// Whether 24 bytes have the checksum of a group header. They are not verified above, where a wrong one would
// be an error of the packet.
control ForeignChecksum(in group_header_t group, out bit<1> is_right) {
    apply {
        bit<16> rest;
        hash(rest, HashAlgorithm.csum16, 16w0, { GROUP_CHECKSUM_FIELDS(group), group.checksum }, 17w0x10000);
        is_right = (bit<1>)(rest == 0);
    }
}

control UpdateChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_CHECKSUM_FIELDS, hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(meta.bridged.refused == 1, TCP_RESET_CHECKSUM_FIELDS, hdr.tcp.checksum,
                        HashAlgorithm.csum16);
        update_checksum(hdr.group.isValid(), { GROUP_CHECKSUM_FIELDS(hdr.group) }, hdr.group.checksum,
                        HashAlgorithm.csum16);
    }
}
