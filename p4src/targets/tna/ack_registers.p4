// The registers of acks.p4: one stateful action each. Index: stream. A RESET for ALL_BRANCHES sets each of
// them anew.

// The highest cumulative acknowledgement of branch NN. `seq` of this branch raises it, or with a RESET sets
// it. NOT_COUNTED where the branch does not count.
#define HIGHEST_ACK(NN)                                                                                      \
control HighestAck_##NN(in stream_index_t stream, in branch_t branch, in bit<8> type, in bit<16> active,     \
                        in seq_t seq, out seq_t value) {                                                     \
    @id(0x160001##NN) Register<seq_t, stream_index_t>(MAX_STREAMS, 0) acked;                                 \
    RegisterAction<seq_t, stream_index_t, seq_t>(acked) recall_seq = {                                       \
        void apply(inout seq_t highest, out seq_t result) { result = highest; }                              \
    };                                                                                                       \
    RegisterAction<seq_t, stream_index_t, seq_t>(acked) raise_seq = {                                        \
        void apply(inout seq_t highest, out seq_t result) {                                                  \
            highest = max(highest, seq);                                                                     \
            result = highest;                                                                                \
        }                                                                                                    \
    };                                                                                                       \
    RegisterAction<seq_t, stream_index_t, seq_t>(acked) put_seq = {                                          \
        void apply(inout seq_t highest) { highest = seq; }                                                   \
    };                                                                                                       \
    @hidden action recall() { value = recall_seq.execute(stream); }                                          \
    @hidden action raise() { value = raise_seq.execute(stream); }                                            \
    @hidden action raise_uncounted() { value = NOT_COUNTED; raise_seq.execute(stream); }                     \
    @hidden action put() { value = NOT_COUNTED; put_seq.execute(stream); }                                   \
    @hidden action pass() { value = NOT_COUNTED; }                                                           \
    @hidden table access {                                                                                   \
        key = { branch : ternary; type : ternary; active[NN:NN] : ternary @name("counts"); }                 \
        actions = { recall; raise; raise_uncounted; put; pass; }                                             \
        const default_action = pass();                                                                       \
        const entries = {                                                                                    \
            (NN,           TYPE_RESET, _) : put();                                                           \
            (ALL_BRANCHES, TYPE_RESET, _) : put();                                                           \
            (NN,           _,          1) : raise();                                                         \
            (NN,           _,          0) : raise_uncounted();                                               \
            (_,            _,          1) : recall();                                                        \
        }                                                                                                    \
    }                                                                                                        \
    apply { access.apply(); }                                                                                \
}
EACH_BRANCH(HIGHEST_ACK)

// The packet after the highest that was sent; 0: not known. What comes from upstream raises it; an
// acknowledgement is compared with it where both come in by one pipe, since each pipe has a register of its
// own. A RESET reaches the pipe of CPU_PORT alone: elsewhere an old number stays until data raises it, or a
// lower one drops acknowledgements until the next data or poll.
#define PIPE(N) (N << 7) &&& 0x180
control HighestSent(in stream_index_t stream, in bit<8> type, in bit<1> from_upstream, in branch_t branch,
                    in seq_t seq, in port_id_t port, in port_id_t upstream_port, out bit<1> beyond) {
    @id(0x1600000b) Register<seq_t, stream_index_t>(MAX_STREAMS, 0) sent;
    RegisterAction<seq_t, stream_index_t, bit<1>>(sent) put_next = {
        void apply(inout seq_t next) { next = seq + 1; }
    };
    RegisterAction<seq_t, stream_index_t, bit<1>>(sent) raise_next = {
        void apply(inout seq_t next) { if (seq >= next) { next = seq + 1; } }
    };
    RegisterAction<seq_t, stream_index_t, bit<1>>(sent) compare_next = {
        void apply(inout seq_t next, out bit<1> result) {
            result = 0;
            if (next != 0 && seq > next) { result = 1; }
        }
    };
    @hidden action put() { put_next.execute(stream); }
    @hidden action raise() { raise_next.execute(stream); }
    @hidden action compare() { beyond = compare_next.execute(stream); }
    @hidden table access {
        key = {
            type : ternary;
            from_upstream : ternary;
            branch : ternary;
            port : ternary;
            upstream_port : ternary;
        }
        actions = { put; raise; compare; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (TYPE_RESET,  _, ALL_BRANCHES, _, _) : put();
            (TYPE_DATA,   1, _,            _, _) : raise();
            (TYPE_REPAIR, 1, _,            _, _) : raise();
            (TYPE_SYNC,   1, _,            _, _) : raise();
            (TYPE_ACK,    _, _,            PIPE(0), PIPE(0)) : compare();
            (TYPE_ACK,    _, _,            PIPE(1), PIPE(1)) : compare();
            (TYPE_ACK,    _, _,            PIPE(2), PIPE(2)) : compare();
            (TYPE_ACK,    _, _,            PIPE(3), PIPE(3)) : compare();
        }
    }

    apply {
        beyond = 0;
        access.apply();
    }
}

// The minimum that was last sent up. `lowest` raises it.
control ForwardedAck(in stream_index_t stream, in branch_t branch, in seq_t lowest, in seq_t seq,
                     out bit<1> raised) {
    @id(0x16000001) Register<seq_t, stream_index_t>(MAX_STREAMS, 0) forwarded;
    RegisterAction<seq_t, stream_index_t, bit<1>>(forwarded) put = {
        void apply(inout seq_t last) { last = seq; }
    };
    RegisterAction<seq_t, stream_index_t, bit<1>>(forwarded) raise = {
        void apply(inout seq_t last, out bit<1> result) {
            result = 0;
            if (lowest > last) { result = 1; last = lowest; }
        }
    };

    apply {
        raised = 0;
        if (branch == ALL_BRANCHES) {
            put.execute(stream);
        } else {
            raised = raise.execute(stream);
        }
    }
}

// The poll whose answer last went up; 0 after a RESET.
control AnsweredPoll(in stream_index_t stream, in branch_t branch, in bit<8> flags, in bit<8> poll,
                     out bit<1> another) {
    @id(0x16000002) Register<bit<8>, stream_index_t>(MAX_STREAMS, 0) answered;
    RegisterAction<bit<8>, stream_index_t, bit<1>>(answered) clear = {
        void apply(inout bit<8> last) { last = 0; }
    };
    RegisterAction<bit<8>, stream_index_t, bit<1>>(answered) compare = {
        void apply(inout bit<8> last, out bit<1> result) {
            result = 0;
            if (poll != last) { result = 1; last = poll; }
        }
    };

    apply {
        another = 0;
        if (branch == ALL_BRANCHES) {
            clear.execute(stream);
        } else if ((flags & FLAG_FORCED) != 0) {
            another = compare.execute(stream);
        }
    }
}
