// A hash is the base and the remainder by the bound (v1model): crc16 of 1, 2 is 0x5180, crc32 is 0xb6cc4292.
// frame 1 01020000 => 2 0102 8092
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        bit<16> short;
        bit<32> long;
        hash(short, HashAlgorithm.crc16, 16w0, { hdr.h.a, hdr.h.b }, 32w0x10000);
        hash(long, HashAlgorithm.crc32, 32w0, { hdr.h.a, hdr.h.b }, 64w0x100000000);
        hdr.h.c = short[7:0];
        hdr.h.d = long[7:0];
        std.egress_spec = 2;
    }
}
#include "rest.p4"
