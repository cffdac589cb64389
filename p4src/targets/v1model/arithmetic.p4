// Operations on two fields for which chips have instructions of their own.

bit<32> minimum(in bit<32> a, in bit<32> b) { return a < b ? a : b; }
int<32> signed_minimum(in int<32> a, in int<32> b) { return a < b ? a : b; }
int<32> signed_maximum(in int<32> a, in int<32> b) { return a > b ? a : b; }

// Microseconds of the target's clock, which counts them itself.
bit<32> microseconds(in bit<48> timestamp) { return (bit<32>)timestamp; }
