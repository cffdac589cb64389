// Constants are computed in numbers without a width, and static_assert looks at them (8.8, 11.1, 19).
// frame 1 00000000 => 2 0f10ff05
#include "start.p4"
const int BIG = (1 << 100) / (1 << 96) - 1;
const bit<8> ALL = (bit<8>)(0 - 1);
const bool CHECKED = static_assert(BIG == 15, "BIG is 15");
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.h.a = BIG;
        hdr.h.b = hdr.h.minSizeInBytes() * 4;
        hdr.h.c = ALL;
        hdr.h.d = 37 % 8;
        std.egress_spec = 2;
    }
}
#include "rest.p4"
