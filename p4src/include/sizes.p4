// Sizes of tables and registers. Override any of them on p4c's command line, e.g. `-DMAX_STREAMS=512`.
#ifndef _GROUPFLOW_SIZES_
#define _GROUPFLOW_SIZES_

// Streams (one sender's data in one session) known to a switch. Also the length of every acknowledgement register.
#ifndef MAX_STREAMS
#define MAX_STREAMS 4096
#endif

// (stream, downstream neighbour) pairs from which acknowledgements and repair requests are taken.
#ifndef MAX_BRANCHES
#define MAX_BRANCHES 32768
#endif

// Hosts and switches that replicated packets are addressed to.
#ifndef MAX_NEIGHBOURS
#define MAX_NEIGHBOURS 16384
#endif

// Hosts, and TCP sessions, each with an address of its own.
#ifndef MAX_ROUTES
#define MAX_ROUTES 8192
#endif

#ifndef MAX_ARP_ENTRIES
#define MAX_ARP_ENTRIES 1024
#endif

#ifndef MAX_STATIONS
#define MAX_STATIONS 16
#endif

// Ports are 9 bits wide on v1model and Tofino.
#ifndef MAX_PORTS
#define MAX_PORTS 512
#endif

// Flows under diffusion-type flow control; flow numbers are below it.
#ifndef MAX_FLOWS
#define MAX_FLOWS 4096
#endif

// Rules that put packets into controlled flows.
#ifndef MAX_FLOW_RULES
#define MAX_FLOW_RULES 1024
#endif

// Queues a port (3 bits of priority on v1model), and queues in all: cell = port * QUEUES + queue.
#define QUEUES 8
#define QUEUE_CELLS (MAX_PORTS * QUEUES)

// Where the packet generator's frames seem to come from. No interface has this number.
#ifndef GENERATOR_PORT
#define GENERATOR_PORT 0
#endif

// The port to the controller: `--cpu-port` of gfswitch and simple_switch_grpc.
#ifndef CPU_PORT
#define CPU_PORT 510
#endif

#endif
