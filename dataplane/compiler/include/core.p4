// The declarations that every P4_16 program may use (P4_16 specification, appendix D).

#ifndef _CORE_P4_
#define _CORE_P4_

error {
    NoError,            // no error
    PacketTooShort,     // the packet has fewer bits than `extract` or `lookahead` takes
    NoMatch,            // no case of a `select` matches
    StackOutOfBounds,   // a header stack has no element of this index
    HeaderTooShort,     // a varbit field is longer than its type allows
    ParserTimeout,      // the parser ran for too long
    ParserInvalidArgument // an argument has a value that the method does not take
}

match_kind {
    exact,
    ternary,
    lpm
}

// The packet that a parser reads.
extern packet_in {
    // Reads a header of fixed size, and moves on behind it.
    void extract<T>(out T hdr);
    // Reads a header with one varbit field of the given number of bits.
    void extract<T>(out T variableSizeHeader, in bit<32> variableFieldSizeInBits);
    // Reads without moving on.
    T lookahead<T>();
    // Passes bits over.
    void advance(in bit<32> sizeInBits);
    // The length of the packet in bytes.
    bit<32> length();
}

// The packet that a deparser writes.
extern packet_out {
    // Writes a header if it is valid, a stack or struct header by header.
    void emit<T>(in T hdr);
}

// Ends the parser with an error unless the check holds.
extern void verify(in bool check, in error toSignal);

// Does nothing.
@noWarn("unused")
action NoAction() {}

// Ends the program unless the check holds, when the program is compiled.
extern bool static_assert(bool check, string message);
extern bool static_assert(bool check);

#endif
