// Every header on the wire. docs/reference/protocol.md gives the group header's meaning field by field.

typedef bit<48> mac_addr_t;
typedef bit<32> ipv4_addr_t;
typedef bit<9>  port_id_t;
typedef bit<16> mcast_group_t;   // multicast group of the replication engine; 0 means none
typedef bit<32> session_t;
typedef bit<16> member_t;
typedef bit<32> seq_t;        // packet number; a stream's first packet is 1
typedef bit<16> flow_t;       // number of a controlled flow, the same in the whole network; 0 means none
typedef int<32> rate_t;       // Q26.6: 1/64 packet/s

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_ARP  = 0x0806;
// IEEE 802's two EtherTypes for experiments within one administration.
const bit<16> ETHERTYPE_FEEDBACK = 0x88b5;
const bit<16> ETHERTYPE_TICK     = 0x88b6;

const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;

// Bit in ipv4_t.flags: not the last fragment.
const bit<3> IPV4_MORE_FRAGMENTS = 1;
// A group header behind UDP's ends before this fragment offset, in units of 8 bytes.
const bit<13> IPV4_BEHIND_GROUP  = 4;

// Fields of packets that the switch makes.
const bit<3> IPV4_DONT_FRAGMENT = 2;
const bit<8> IPV4_FRESH_TTL     = 64;

// Bits in tcp_t.flags.
const bit<8> TCP_SYN = 0x02;
const bit<8> TCP_RST = 0x04;
const bit<8> TCP_ACK = 0x10;

const bit<16> UDP_PORT_GROUPFLOW = 26470;  // "gf" in ASCII
const bit<8>  GROUPFLOW_VERSION  = 1;
const bit<8>  GROUP_PREFIX       = 239;    // a session's group address is 239.<low 24 bits of its id>

// Lengths in bytes.
const bit<16> ETHERNET_BYTES = 14;
const bit<16> IPV4_BYTES     = 20;
const bit<16> UDP_BYTES      = 8;
const bit<16> TCP_BYTES      = 20;
const bit<16> GROUP_BYTES    = 24;
const bit<16> GROUP_MAX_BYTES = 0xffff - UDP_BYTES - GROUP_BYTES;   // of payload

// Values of group_header_t.type.
const bit<8> TYPE_DATA      = 1;
const bit<8> TYPE_REPAIR    = 2;
const bit<8> TYPE_ACK       = 3;
const bit<8> TYPE_NACK      = 4;
const bit<8> TYPE_SYNC      = 5;
const bit<8> TYPE_JOIN      = 6;
const bit<8> TYPE_LEAVE     = 7;
const bit<8> TYPE_KEEPALIVE = 8;
const bit<8> TYPE_REPLY     = 9;
const bit<8> TYPE_RESET     = 10;
const bit<8> TYPE_QUERY     = 11;
const bit<8> TYPE_REPORT    = 12;

// Bit in group_header_t.flags: this acknowledgement answers a poll (SYNC) of the sender.
const bit<8> FLAG_FORCED = 0x04;

header ethernet_t {
    mac_addr_t   dst;
    mac_addr_t   src;
    bit<16> ethertype;
}

header arp_t {
    bit<16> hardware_type;
    bit<16> protocol_type;
    bit<8>  hardware_length;
    bit<8>  protocol_length;
    bit<16> operation;
    mac_addr_t   sender_mac;
    ipv4_addr_t sender_ip;
    mac_addr_t   target_mac;
    ipv4_addr_t target_ip;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  dscp_ecn;
    bit<16> total_length;
    bit<16> identification;
    bit<3>  flags;
    bit<13> fragment_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    ipv4_addr_t src;
    ipv4_addr_t dst;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

header tcp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<32> seq;
    bit<32> ack;
    bit<4>  data_offset;
    bit<4>  reserved;
    bit<8>  flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header group_header_t {
    bit<8>    version;
    bit<8>    type;
    bit<8>    flags;
    bit<8>    poll;
    session_t session;
    member_t  source;    // the member whose stream this is
    member_t  member;    // the member that emitted this packet; 0: the network
    seq_t     seq;
    bit<32>   stamp;     // microseconds of the sender's clock
    bit<16>   length;    // payload bytes
    bit<16>   checksum;  // RFC 1071 over these 24 bytes
}

// Diffusion-type flow control: a node's report about a flow to its upstream neighbour (Takano et al., eq. 4).
header feedback_t {
    flow_t  flow;
    bit<16> flags;       // FLAG_EXTERNAL or 0
    rate_t  r;           // target rate of the receiver of this frame
    bit<32> n;           // packets of the flow in the sender of this frame
}

// A measurement of a link between two switches (probes.p4). It has feedback's EtherType: FLAG_PROBE tells
// them apart.
header probe_t {
    bit<16> number;      // the sender's own, returned unchanged
    bit<16> flags;       // FLAG_PROBE, with FLAG_ANSWER on the way back
    bit<32> sent;        // when it left, us
    bit<32> returned;    // when it was back, us of the same clock
}

// Bits in feedback_t.flags and probe_t.flags.
const bit<16> FLAG_EXTERNAL = 0x0001;   // r is eq. 9's: for a host that shapes, not for a node that computes
const bit<16> FLAG_PROBE    = 0x0002;
const bit<16> FLAG_ANSWER   = 0x0004;   // a probe on its way back

// The packet generator's call to report about a flow. As long as feedback_t, which it becomes.
header tick_t {
    flow_t  flow;
    bit<16> branch;      // which of the flow's downstream neighbours, from 0
    bit<64> reserved;
}

// To the controller: the frame, the port that it came in by, and why it goes there.
@id(0x04000001) @controller_header("packet_in")
header packet_in_t {
    port_id_t ingress_port;
    bit<7> reason;       // PUNT_*
}

const bit<7> PUNT_CONTROL = 1;  // JOIN, LEAVE, KEEPALIVE, QUERY, REPORT of a host
const bit<7> PUNT_RESET   = 2;  // a RESET of the controller has been carried out
const bit<7> PUNT_PROBE   = 3;  // a probe of a link is back
const bit<7> PUNT_ECHO    = 4;  // a packet-out to the controller's own port

// From the controller. inject = 0: send as it is to egress_port. inject = 1: run through the pipeline as a
// RESET.
@id(0x04000002) @controller_header("packet_out")
header packet_out_t {
    port_id_t egress_port;
    bit<1> inject;
    bit<6> padding;
}

struct headers_t {
    packet_out_t   packet_out;
    packet_in_t    packet_in;
    ethernet_t     ethernet;
    feedback_t     feedback;
    probe_t        probe;
    tick_t         tick;
    arp_t          arp;
    ipv4_t         ipv4;
    udp_t          udp;
    group_header_t foreign;   // behind other ports than the group's, if it is one
    tcp_t          tcp;
    group_header_t group;
}
