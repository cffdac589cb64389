// The indexed counters: a control for each, by the names that P4Info has.

#define INDEXED_COUNTER(CONTROL, INDEX, ID, SIZE, UNIT, NAME)   \
control CONTROL(in INDEX index) {                               \
    @id(ID) counter(SIZE, CounterType.UNIT) NAME;               \
    apply { NAME.count((bit<32>)index); }                       \
}

// Packets and bytes that arrived on each port, good and bad, and that left on it.
INDEXED_COUNTER(CountArrival, port_id_t, 0x12000001, MAX_PORTS, packets_and_bytes, port_in)
INDEXED_COUNTER(CountDeparture, port_id_t, 0x12000002, MAX_PORTS, packets_and_bytes, port_out)
// Packets dropped, by reason: DROP_*, whose words switch and controller read here. Packets whose last word is
// `absorbed` are no drops for the switch, too.
control CountDrop(in drop_reason_t reason) {
    @id(0x12000003)
    @groupflow_reasons(none, malformed, checksum, unknown_protocol, not_for_us, ttl, no_route, no_arp,
                       unknown_session, wrong_port, unknown_branch, unknown_type, no_upstream,
                       not_controller, wrong_neighbour, not_generator, unknown_flow, refused, spoofed,
                       not_agent, not_switch, fragment, foreign_group, metered, beyond)
    counter(DROP_REASONS, CounterType.packets) drops;
    @id(0x12000006) @groupflow_reasons(absorbed)
    counter(1, CounterType.packets) absorbed;

    apply {
        if (reason == ABSORBED) {
            absorbed.count(0);
        } else {
            drops.count((bit<32>)reason);
        }
    }
}
// Copies of an agent's own repairs, which it does not get back.
control CountOwnRepair() {
    @id(0x12000007) @groupflow_reasons(absorbed)
    counter(1, CounterType.packets) own_repairs;
    apply { own_repairs.count(0); }
}
// Messages handed to the controller, by type of the group packet.
INDEXED_COUNTER(CountPunt, bit<8>, 0x12000004, 256, packets, punts)
// TCP segments answered with a reset, by the port they came from.
INDEXED_COUNTER(CountRefusal, port_id_t, 0x12000005, MAX_PORTS, packets, refusals)
