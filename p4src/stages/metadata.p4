// The metadata that stages hand to each other. The top translates it to and from the target's own.

// The reason for which a packet is dropped: the index in the counter `drops`. 0: not dropped.
typedef bit<8> drop_reason_t;
const drop_reason_t DROP_NONE              = 0;
const drop_reason_t DROP_MALFORMED         = 1;   // too short, or lengths that contradict each other
const drop_reason_t DROP_CHECKSUM          = 2;   // IPv4 or group header
const drop_reason_t DROP_UNKNOWN_PROTOCOL  = 3;   // neither IPv4 nor ARP, or IPv4 with options
const drop_reason_t DROP_NOT_FOR_US        = 4;   // Ethernet destination is not this switch
const drop_reason_t DROP_TTL               = 5;
const drop_reason_t DROP_NO_ROUTE          = 6;
const drop_reason_t DROP_NO_ARP            = 7;   // ARP: no request, for no host's address, or the controller's
const drop_reason_t DROP_UNKNOWN_SESSION   = 8;
const drop_reason_t DROP_WRONG_PORT        = 9;   // data from another port than the stream's upstream
const drop_reason_t DROP_UNKNOWN_BRANCH    = 10;  // acknowledgement or repair request from no branch
const drop_reason_t DROP_UNKNOWN_TYPE      = 11;
const drop_reason_t DROP_NO_UPSTREAM       = 12;  // to go up, where the stream has no upstream
const drop_reason_t DROP_NOT_CONTROLLER    = 13;  // a message only the controller may send
const drop_reason_t DROP_WRONG_NEIGHBOUR   = 14;  // feedback from a port that is not downstream
const drop_reason_t DROP_NOT_GENERATOR     = 15;  // a tick from an ordinary port
const drop_reason_t DROP_UNKNOWN_FLOW      = 16;  // a tick for a flow that is not controlled here
const drop_reason_t DROP_REFUSED           = 17;  // to a refused address: no TCP segment, or the controller's
const drop_reason_t DROP_SPOOFED           = 18;  // an address that is not of the port's host
const drop_reason_t DROP_NOT_AGENT         = 19;  // a repair or SYNC to a host, not from an agent
const drop_reason_t DROP_NOT_SWITCH        = 20;  // a probe from a host or the controller
const drop_reason_t DROP_FRAGMENT          = 21;  // a fragment that may hold a group header, or part of one
const drop_reason_t DROP_FOREIGN_GROUP     = 22;  // a group header behind other ports than the group's
const drop_reason_t DROP_METERED           = 23;  // a message to the controller, above the rate of its port
const drop_reason_t DROP_BEYOND            = 24;  // an acknowledgement of packets that were not sent
#define DROP_REASONS 32
// No drop: the packet did its work here and need not go on, such as an acknowledgement below the minimum,
// feedback, a tick, an announcement. The counter `absorbed` has them.
const drop_reason_t ABSORBED               = 0xff;

typedef bit<3> queue_id_t;              // of the egress port. 1 to 6: controlled flows, 0: all else
const queue_id_t QUEUE_FEEDBACK = 7;
typedef bit<12> cell_t;                 // of a queue's registers: egress port * 8 + queue

// The operation that joins a branch's report with those of the branches before it in the same round.
typedef bit<2> combine_t;
const combine_t COMBINE_FIRST   = 0;   // none is before it
const combine_t COMBINE_SLOWEST = 1;   // the largest n and the smallest r count (strict)
const combine_t COMBINE_FASTEST = 2;   // the smallest n and the largest r count (isolate)

typedef bit<16> stream_index_t;
typedef bit<8>  branch_t;
const branch_t ALL_BRANCHES = 0xff;               // in a RESET: the whole stream
const branch_t NO_BRANCH    = 0xfe;
const seq_t NOT_COUNTED    = 0xffffffff;         // value of a branch that does not take part in the minimum

struct stream_t {
    stream_index_t index;
    mcast_group_t  data_group;       // all branches, and the cache agent where caching is delegated
    mcast_group_t  ack_group;        // all that are told when the minimum over branches advances
    mcast_group_t  repair_group;     // the cache agent; 0: none here
    mcast_group_t  upstream_group;   // the neighbour towards the sender
    port_id_t      upstream_port;
    port_id_t      agent_port;       // of the cache agent, where there is one
    bit<16>        active;           // bit b: branch b counts in the minimum; in a RESET none does
    queue_id_t     queue;            // of its data at every port: that of a controlled flow, or 0
}

// All that egress needs of ingress. A target that has to carry it there says `header`.
#ifndef BRIDGED
#define BRIDGED struct
#endif
BRIDGED bridged_t {
    @flexible bit<1>     from_agent;   // of this switch; it gets no copy
    @flexible port_id_t  agent_port;   // where it came from an agent: that agent's
    @flexible bit<1>     refused;      // to a TCP session that no host serves; at egress: a reset made of it
    @flexible queue_id_t queue;        // at the egress port
}

// The kind of neighbour behind a port. A port of which nothing is known counts as a switch's.
typedef bit<2> neighbour_t;
const neighbour_t NEIGHBOUR_SWITCH = 0;
const neighbour_t NEIGHBOUR_HOST   = 1;
const neighbour_t NEIGHBOUR_AGENT  = 2;   // the host of this switch's cache agent or split agent
const neighbour_t NEIGHBOUR_CONTROLLER = 3;   // at CPU_PORT; no frame is answered to it

// A target hands it to ingress as zeroes, except what the top sets.
struct metadata_t {
    port_id_t     ingress_port;
    neighbour_t   neighbour;     // behind ingress_port
    bit<16>       payload_bytes; // received behind the Ethernet header; 0xffff: the target cannot tell
    bit<1>        parser_failed;
    bit<1>        checksum_failed;    // of IPv4, or of any header where a target verifies all at once
    bit<1>        group_failed;       // of hdr.group
    bit<1>        foreign_failed;     // hdr.foreign has no group header's checksum
    drop_reason_t drop_reason;
    port_id_t     egress_port;   // where `group` is 0
    mcast_group_t group;         // replicate to this group; 0: none
    bit<7>        punt;          // PUNT_*: hand to the controller; 0: do not
    bit<1>        is_group;      // addressed to a session's group address
    bit<32>       now;           // microseconds, when the packet arrived; only differences mean something
    bit<16>       src_port;      // UDP or TCP
    bit<16>       dst_port;
    branch_t      branch;        // that an acknowledgement or a request comes from, or a RESET is for
    bit<1>        from_upstream; // from the sender's side of its stream
    bit<1>        aggregates;    // for acks.p4, which a target may run later than the session's other stages
    stream_t      stream;
    bridged_t     bridged;
}
