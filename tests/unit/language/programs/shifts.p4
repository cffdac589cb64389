// A shift of a signed number copies its sign; shifts by more than the width give 0 or the sign (8.7, 8.9.2).
// frame 1 8001 0920 => 2 f8ff0080
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        int<8> a = (int<8>)hdr.h.a;
        bit<8> far = hdr.h.c;
        hdr.h.b = (bit<8>)(a >> far);
        hdr.h.a = (bit<8>)(a >> 4);
        hdr.h.c = hdr.h.d >> far;
        hdr.h.d = hdr.h.d << 2;
        std.egress_spec = 2;
    }
}
#include "rest.p4"
