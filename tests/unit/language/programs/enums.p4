// Enums have no numbers, serializable ones have those of their type (7.2.1, 8.3).
// frame 1 01000000 => 2 01020000
// frame 1 07000000 => 3 07000000
#include "start.p4"
enum Colour { Red, Green }
enum bit<8> Kind { One = 1, Two = 1 + 1 }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        Colour colour = hdr.h.a == Kind.One ? Colour.Green : Colour.Red;
        Kind kind = (Kind)hdr.h.a;
        switch (kind) {
            Kind.One: { hdr.h.b = Kind.Two; }
            default: { }
        }
        std.egress_spec = colour == Colour.Green ? 9w2 : 3;
    }
}
#include "rest.p4"
