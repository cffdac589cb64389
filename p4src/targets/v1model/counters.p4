// The indexed counters: a control for each, by the names that P4Info has.

#define INDEXED_COUNTER(CONTROL, INDEX, ID, SIZE, UNIT, NAME)   \
control CONTROL(in INDEX index) {                               \
    @id(ID) counter(SIZE, CounterType.UNIT) NAME;               \
    apply { NAME.count((bit<32>)index); }                       \
}

// Packets and bytes that arrived on each port, good and bad, and that left on it.
INDEXED_COUNTER(CountArrival, port_t, 0x12000001, MAX_PORTS, packets_and_bytes, port_in)
INDEXED_COUNTER(CountDeparture, port_t, 0x12000002, MAX_PORTS, packets_and_bytes, port_out)
// Packets not forwarded, by reason: DROP_*.
INDEXED_COUNTER(CountDrop, drop_reason_t, 0x12000003, DROP_REASONS, packets, drops)
// Messages handed to the controller, by type of the group packet.
INDEXED_COUNTER(CountPunt, bit<8>, 0x12000004, 256, packets, punts)
// TCP segments answered with a reset, by the port they came from.
INDEXED_COUNTER(CountRefusal, port_t, 0x12000005, MAX_PORTS, packets, refusals)
