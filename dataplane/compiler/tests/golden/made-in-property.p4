#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> a; bit<8> b; }
struct headers_t { h_t h; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.h); transition accept; }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action set(bit<9> port) { standard.egress_spec = port; }
    table counted {
        key = { hdr.h.a: exact; }
        actions = { set; NoAction; }
        default_action = set(1);
        @name(".seen") @id(7) @own counters = direct_counter(CounterType.packets);
    }
    table shared {
        key = { hdr.h.b: exact; hdr.h.a: selector; }
        actions = { set; NoAction; }
        @name("next.hops") @id(7) @own[1, "x"] @brief("who is next") @max_group_size(4)
        implementation = action_selector(HashAlgorithm.crc16, 128, 16);
        @name("ignored") @id(7) size = 64;
    }
    apply { counted.apply(); shared.apply(); }
}

control None(inout headers_t hdr, inout metadata_t meta) { apply { } }
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.h); } }
V1Switch(P(), None(), MyIngress(), MyEgress(), None(), D()) main;
