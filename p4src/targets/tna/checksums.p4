// Header checksums only: ingress's parser verifies them, and egress's deparser writes them. verify() gives 1
// where a sum is wrong.

#define VERIFY_IPV4                                                            \
        ipv4_checksum.add(hdr.ipv4);                                           \
        local.stages.checksum_failed = (bit<1>)ipv4_checksum.verify();
#define VERIFY_GROUP                                                           \
        group_checksum.add(hdr.group);                                         \
        local.stages.group_failed = (bit<1>)group_checksum.verify();
#define VERIFY_FOREIGN                                                         \
        foreign_checksum.add(hdr.foreign);                                     \
        local.stages.foreign_failed = (bit<1>)foreign_checksum.verify();
