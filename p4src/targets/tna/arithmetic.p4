// Operations on two fields for which the chip has instructions of its own.

#define minimum(A, B)        min(A, B)
#define signed_minimum(A, B) min(A, B)
#define signed_maximum(A, B) max(A, B)

// The clock counts nanoseconds, of which an instruction takes 32 bits. A unit of 1,024 of them is 2.4 % more
// than a microsecond; 2^22 of them are 4.3 s.
bit<32> microseconds(in bit<48> timestamp) { return timestamp[31:0] >> 10; }
