// Entries for all kinds of keys, defaults and counters, for the steps of entries.stf.
#include <core.p4>
#include <v1model.p4>

header mark_t {
    bit<8> kind;
    bit<16> value;
}

struct headers_t {
    mark_t first;
    mark_t second;
}

struct meta_t {}

parser In(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.first);
        transition select(hdr.first.kind) {
            2: more;
            default: accept;
        }
    }
    state more {
        packet.extract(hdr.second);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control Choose(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    counter(4, CounterType.packets_and_bytes) seen;

    action go(bit<9> port, bit<8> kind) {
        standard.egress_spec = port;
        hdr.first.kind = kind;
    }
    action lose() {
        mark_to_drop(standard);
    }
    table masks {
        key = { hdr.first.value: ternary; hdr.second.isValid(): exact; }
        actions = { go; lose; NoAction; }
        default_action = NoAction();
    }
    table prefixes {
        key = { hdr.first.value: lpm; }
        actions = { go; lose; }
        default_action = lose();
    }
    apply {
        seen.count((bit<32>)hdr.first.kind[1:0]);
        if (!masks.apply().hit) {
            prefixes.apply();
        }
    }
}

control Leave(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    apply {}
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control Out(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(In(), Verify(), Choose(), Leave(), Update(), Out()) main;
