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
#define TCP_RESET_CHECKSUM_FIELDS(LENGTH)                                           \
    { hdr.ipv4.src, hdr.ipv4.dst, 8w0, hdr.ipv4.protocol, LENGTH,                   \
      hdr.tcp.src_port, hdr.tcp.dst_port, hdr.tcp.seq, hdr.tcp.ack,                 \
      hdr.tcp.data_offset, hdr.tcp.reserved, hdr.tcp.flags, hdr.tcp.window,         \
      hdr.tcp.urgent }
