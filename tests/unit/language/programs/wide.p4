// Numbers of more than 128 bits, in keys of all kinds, parameters and registers (7.1.6.2).
// insert exactly k=0x01000000000000000000000000000000000000000000000002 => show v=0xa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf
// insert longest p=0x0100000000000000000000000000000000020000/144 => add x=0x10
// insert longest p=0x0100000000000000000000000000000000000000/8 => add x=0x20
// insert masked t=0x0100000000000000000000000000000000000000000000000000000000000000/&0xff00000000000000000000000000000000000000000000000000000000000000 priority=1 => add x=1
// insert between k=0x01000000000000000000000000000000000000000000000000..0x01000000000000000000000000000000000000000000000002 priority=1 => add x=2
// frame 1 01020500 => 2 01010513a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf
// frame 1 01030300 => 2 01020821
#define OWN_HEADERS
#define OWN_META
#include "start.p4"
header wide_t { bit<256> v; }
struct headers_t { four_t h; wide_t w; }
struct meta_t { bit<200> k; bit<160> p; bit<256> t; }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<376>>(2) sums;
    action show(bit<256> v) {
        hdr.w.setValid();
        hdr.w.v = v;
    }
    action add(bit<8> x) { hdr.h.d = hdr.h.d + x; }
    table exactly {
        key = { meta.k: exact @name("k"); }
        actions = { show; NoAction; }
        default_action = NoAction();
    }
    table longest {
        key = { meta.p: lpm @name("p"); }
        actions = { add; NoAction; }
        default_action = NoAction();
    }
    table masked {
        key = { meta.t: ternary @name("t"); }
        actions = { add; NoAction; }
        default_action = NoAction();
    }
    table between {
        key = { meta.k: range @name("k"); }
        actions = { add; NoAction; }
        default_action = NoAction();
    }
    apply {
        meta.k = (bit<200>) hdr.h.a << 192 | (bit<200>) hdr.h.b;
        meta.p = (bit<160>) hdr.h.a << 152 | (bit<160>) hdr.h.b << 16;
        meta.t = (bit<256>) hdr.h.a << 248 | (bit<256>) hdr.h.b;
        exactly.apply();
        longest.apply();
        masked.apply();
        between.apply();
        bit<376> sum;
        sums.read(sum, 1);
        sum = sum + ((bit<376>) hdr.h.c << 248 | 1);
        sums.write(1, sum);
        hdr.h.b = (bit<8>) sum;
        hdr.h.c = (bit<8>) (sum >> 248);
        std.egress_spec = 2;
    }
}
#include "rest.p4"
