// The indexed counters: a control for each, by P4Info's names. EXTRA: bytes that are not the frame's.

#define COUNTED(CONTROL, INDEX, ID, SIZE, UNIT, EXTRA, NAME)    \
control CONTROL(in INDEX index) {                               \
    @id(ID) INDEXED_COUNTER(INDEX, SIZE, UNIT) NAME;            \
    apply { NAME.count(CELL(index, EXTRA)); }                   \
}

// Packets and bytes that arrived on each port, good and bad, and that left on it.
COUNTED(CountArrival, port_id_t, 0x12000001, MAX_PORTS, packets_and_bytes, INGRESS_EXTRA, port_in)
COUNTED(CountDeparture, port_id_t, 0x12000002, MAX_PORTS, packets_and_bytes, EGRESS_EXTRA, port_out)
// Packets dropped, by reason: DROP_*, whose words switch and controller read here. Packets whose last word is
// `absorbed` are no drops for the switch, too.
control CountDrop(in drop_reason_t reason) {
    @id(0x12000003)
    @groupflow_reasons(none, malformed, checksum, unknown_protocol, not_for_us, ttl, no_route, no_arp,
                       unknown_session, wrong_port, unknown_branch, unknown_type, no_upstream,
                       not_controller, wrong_neighbour, not_generator, unknown_flow, refused, spoofed,
                       not_agent, not_switch, fragment, foreign_group, metered, beyond)
    INDEXED_COUNTER(drop_reason_t, DROP_REASONS, packets) drops;
    @id(0x12000006) @groupflow_reasons(absorbed)
    INDEXED_COUNTER(bit<1>, 1, packets) absorbed;

    apply {
        if (reason == ABSORBED) {
            absorbed.count(CELL(1w0, 0));
        } else {
            drops.count(CELL(reason, 0));
        }
    }
}
// Copies of an agent's own repairs, which it does not get back.
control CountOwnRepair() {
    @id(0x12000007) @groupflow_reasons(absorbed)
    INDEXED_COUNTER(bit<1>, 1, packets) own_repairs;
    apply { own_repairs.count(CELL(1w0, 0)); }
}
// Messages handed to the controller, by type of the group packet.
COUNTED(CountPunt, bit<8>, 0x12000004, 256, packets, 0, punts)
// TCP segments answered with a reset, by the port they came from.
COUNTED(CountRefusal, port_id_t, 0x12000005, MAX_PORTS, packets, 0, refusals)
