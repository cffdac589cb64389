#include <core.p4>
#include <v1model.p4>

#define LONG_NA\
ME 7

const int COUNT = LONG_NAME;
const string VERSION = "1." ++ "2";

type bit<9> port_t;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<8>  ttl;
    bit<8>  protocol;
    bit<32> src;
    bit<32> dst;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct metadata_t {
    bit<16> length;
}

parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x800: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control MyVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop() {
        mark_to_drop(standard);
    }
    @list[1, "a", true]
    @computed[1 + 2 * 3, COUNT == 7, -COUNT, "a" ++ "b",]
    @empty[]
    @text["say \"hi\" \\ there\n"]
    action forward(@unit[of = "mac"] bit<48> mac, port_t port) {
        hdr.ethernet.dst = mac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        standard.egress_spec = (bit<9>)port;
    }
    @named[low = 0x10, deep = !false, note = "b"]
    @entry_restriction("
    #ifdef NOT_DEFINED
        dst::prefix_length != 1;
    #elif defined(LONG_NAME)
        dst::prefix_length != 2;
    #else
        dst::prefix_length != 3;
    #endif
    ")
    table route {
        key = {
            hdr.ipv4.dst: lpm @name("dst") @of_key[1];
        }
        actions = {
            @of_reference[2] forward;
            drop;
        }
        default_action = drop();
        size = 0;
    }
    apply {
        port_t first = 1;
        standard.egress_spec = (bit<9>)first;
        if (hdr.ipv4.isValid()) {
            route.apply();
        }
    }
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control MyCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

@pkginfo[name = "annotations.p4", version = VERSION]
@platform_property(multicast_group_table_size = 64)
@of_main[COUNT]
V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
