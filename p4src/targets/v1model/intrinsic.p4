// The target's special ports, and operations for which each target has a syntax of its own.
//
// Metadata of ingress, `bridged_t` with them, is there at egress, in each copy of the replication engine too:
// nothing has to carry it.

// The ingress port of the packet generator's frames. A topology's ports begin at 1.
#ifndef GENERATOR_PORT
#define GENERATOR_PORT 0
#endif

// The port to the controller: `--cpu-port` of gfswitch and simple_switch_grpc.
#ifndef CPU_PORT
#define CPU_PORT 510
#endif

// Whether an entry may send to a port.
#define IS_LINK(PORT) PORT != CPU_PORT

// A counter of a table's entries. UNIT: packets or packets_and_bytes.
#define ENTRY_COUNTER(UNIT) direct_counter(CounterType.UNIT)

// A counter by index, and how it is asked for a cell.
#define INDEXED_COUNTER(INDEX, SIZE, UNIT) counter(SIZE, CounterType.UNIT)
#define CELL(INDEX, EXTRA) (bit<32>)(INDEX)

// Bytes that a counter has to leave out, in each half: only the frame is counted.
#define INGRESS_EXTRA
#define EGRESS_EXTRA
