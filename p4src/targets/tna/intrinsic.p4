// The chip's special ports, and operations for which each target has a syntax of its own. A port is a device
// port: pipe in bits 8 and 7, port of the pipe below.

#if __TARGET_TOFINO__ == 1
#define DEFAULT_CPU_PORT       192   // PCIe of a chip of two pipes; of four: 320
#define DEFAULT_LOOP_PORT      68
#define DEFAULT_GENERATOR_PORT 69
#else
#define DEFAULT_CPU_PORT       0
#define DEFAULT_LOOP_PORT      6
#define DEFAULT_GENERATOR_PORT 7
#define DIFFUSION
#endif

// The port to the controller.
#ifndef CPU_PORT
#define CPU_PORT DEFAULT_CPU_PORT
#endif

// A recirculation port, or one in loopback. Its pipe's egress keeps the state of acknowledgements: all meet
// there, whatever pipe they came by.
#ifndef LOOP_PORT
#define LOOP_PORT DEFAULT_LOOP_PORT
#endif

// The source port of the packet generator's frames. The generator itself is enabled on LOOP_PORT.
#ifndef GENERATOR_PORT
#define GENERATOR_PORT DEFAULT_GENERATOR_PORT
#endif

// Whether an entry may send to a port: a frame to LOOP_PORT begins with loop_t.
#define IS_LINK(PORT) (PORT != CPU_PORT && PORT != LOOP_PORT)

#define UNIT_packets           CounterType_t.PACKETS
#define UNIT_packets_and_bytes CounterType_t.PACKETS_AND_BYTES

// A counter of a table's entries. UNIT: packets or packets_and_bytes.
#define ENTRY_COUNTER(UNIT) DirectCounter<bit<64>>(UNIT_##UNIT)

// A counter by index, and how it is asked for a cell.
#define INDEXED_COUNTER(INDEX, SIZE, UNIT) Counter<bit<64>, INDEX>(SIZE, UNIT_##UNIT)
#define CELL(INDEX, EXTRA) INDEX, EXTRA

// Bytes that a counter has to leave out, in each half: the frame's check sequence, and the 4 of bridged_t.
#define INGRESS_EXTRA 4
#define EGRESS_EXTRA  (4 + 4)

// Ingress's deparser puts it in front of the frame.
#define BRIDGED header
