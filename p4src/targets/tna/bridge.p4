// Headers that a packet has inside the chip only, and the metadata of its two halves.

const bit<8> LOOP_ACK = 0;
const bit<8> LOOP_HOP = 1;   // hop_t follows

// From ingress to the egress of LOOP_PORT, where acknowledgements are aggregated and diffusion is computed,
// and back to ingress with what came of it.
header loop_t {
    stream_index_t index;
    bit<16>        active;
    mcast_group_t  group;          // ack_group; on the way back as in metadata_t
    branch_t       branch;
    drop_reason_t  drop_reason;
    bit<8>         kind;           // LOOP_*
    @padding bit<1> before_punt;
    bit<7>         punt;
    @padding bit<7> before_port;
    port_id_t      ingress_port;   // where the packet came in
    @padding bit<7> before_egress_port;
    port_id_t      egress_port;    // of a report
}

// Each pass begins with zeroes.
@pa_auto_init_metadata
struct local_t {
    metadata_t stages;
    loop_t     loop;
    bit<8>     kind;         // of `loop`
    pktgen_timer_header_t generator;
#ifdef DIFFUSION
    hop_t      hop;
#endif
    bit<16>    tcp_length;   // of a reset's pseudo header: a chip sums fields, and no constant but 0
}
