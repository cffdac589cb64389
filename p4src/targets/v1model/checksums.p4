// Verified behind the parser, not in it.
#define VERIFY_IPV4
#define VERIFY_GROUP
#define VERIFY_FOREIGN

control VerifyChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, IPV4_CHECKSUM_FIELDS, hdr.ipv4.checksum,
                        HashAlgorithm.csum16);
        verify_checksum(hdr.group.isValid(), { GROUP_CHECKSUM_FIELDS(hdr.group) }, hdr.group.checksum,
                        HashAlgorithm.csum16);
    }
}

// Whether 24 bytes lack the checksum of a group header. They are not verified above, where a wrong one would
// be an error of the packet.
control ForeignChecksum(in group_header_t group, out bit<1> failed) {
    apply {
        bit<16> rest;
        hash(rest, HashAlgorithm.csum16, 16w0, { GROUP_CHECKSUM_FIELDS(group), group.checksum }, 17w0x10000);
        failed = (bit<1>)(rest != 0);
    }
}

control UpdateChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_CHECKSUM_FIELDS, hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(meta.bridged.refused == 1, TCP_RESET_CHECKSUM_FIELDS(TCP_BYTES), hdr.tcp.checksum,
                        HashAlgorithm.csum16);
        update_checksum(hdr.group.isValid(), { GROUP_CHECKSUM_FIELDS(hdr.group) }, hdr.group.checksum,
                        HashAlgorithm.csum16);
    }
}
