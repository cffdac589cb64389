// Sizes of tables and registers. Override any of them on p4c's command line, e.g. `-DMAX_STREAMS=512`.

// Streams (one sender's data in one session) known to a switch. Also the length of every acknowledgement
// register.
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

#ifndef MAX_ROUTER_MACS
#define MAX_ROUTER_MACS 16
#endif

// Ports: port_id_t has 9 bits.
#define MAX_PORTS 512

// Flows under diffusion-type flow control; flow numbers are below it.
#ifndef MAX_FLOWS
#define MAX_FLOWS 4096
#endif

// Rules that put packets into controlled flows.
#ifndef MAX_FLOW_RULES
#define MAX_FLOW_RULES 1024
#endif

// Queues of all ports, 8 each (queue_id_t has 3 bits).
#define QUEUE_CELLS (MAX_PORTS * 8)

// The branches that a stream may have at one switch, each with a register, a bit of `active` and a number of
// two digits: 8, or 16. A chip holds 8 (acks.p4).
#ifndef BRANCHES
#define BRANCHES 16
#endif
#define EIGHT_BRANCHES(DO) DO(00) DO(01) DO(02) DO(03) DO(04) DO(05) DO(06) DO(07)
#if BRANCHES == 8
#define EACH_BRANCH(DO) EIGHT_BRANCHES(DO)
#define LAST_BRANCH 7
#else
#define EACH_BRANCH(DO) EIGHT_BRANCHES(DO) DO(08) DO(09) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)
#define LAST_BRANCH 15
#endif

// A step before a condition, or before another step. A chip's condition has no arithmetic, and its action
// makes each field in one operation. A table without a key keeps a compiler from moving the step.
#define STEP(NAME, ...)                                                                                      \
    @hidden action NAME##_action() { __VA_ARGS__ }                                                           \
    @hidden table NAME { actions = { NAME##_action; } const default_action = NAME##_action(); }

// A rule for legal entries of a table, or legal parameters of an action, in the language of p4-constraints:
// @entry_restriction and @action_restriction take it as a text, and sizes are filled in.
#define LEGAL(...) LEGAL_TEXT(__VA_ARGS__)
#define LEGAL_TEXT(...) #__VA_ARGS__
