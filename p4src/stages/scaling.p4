// Multiplication by a coefficient that only the controller knows, on hardware that cannot multiply two
// variables: a coefficient is a sum of three signed powers of two, and each power is a shift by a constant
// that a table selects.
//
// A term of a coefficient is 8 bits: bit 7 the sign (1: subtract), bits 6..0 the exponent in two's
// complement. So 0x00 is +1, 0x83 is -8, 0x7e is +1/4. 0x40 (exponent -64) is no term.

typedef bit<8> term_t;
const term_t NO_TERM = 0x40;
const term_t ONE     = 0x00;

// The largest rate, to which `no limit` is clamped. 2^31-1 units are 33.5 million packets/s.
const rate_t RATE_MAX = 0x7fffffff;

struct coefficient_t {
    term_t a;
    term_t b;
    term_t c;
}

// y shifted by `count` bits; 32 and more leave 0. Each of two steps, by a multiple of 8 and by the rest, is a
// table of constant shifts, so that three terms side by side have 24 instructions in a stage. Tables and
// actions are hidden from P4Info: their contents are fixed.
#define BY(OP, K) @hidden action by_##K() { y = y OP K; }
#define SHIFT(CONTROL, OP)                                                                             \
control CONTROL(in bit<7> count, inout int<32> y) {                                                    \
    @hidden action none() { y = 0; }                                                                   \
    @hidden action by_0() { }                                                                          \
    BY(OP, 1) BY(OP, 2) BY(OP, 3) BY(OP, 4) BY(OP, 5) BY(OP, 6) BY(OP, 7) BY(OP, 8) BY(OP, 16)         \
    BY(OP, 24)                                                                                         \
    @hidden table coarse {                                                                             \
        key = { count[6:3] : exact; }                                                                  \
        actions = { none; by_0; by_8; by_16; by_24; }                                                  \
        const default_action = none();                                                                 \
        const entries = { 0 : by_0(); 1 : by_8(); 2 : by_16(); 3 : by_24(); }                          \
    }                                                                                                  \
    @hidden table fine {                                                                               \
        key = { count[2:0] : exact; }                                                                  \
        actions = { by_0; by_1; by_2; by_3; by_4; by_5; by_6; by_7; }                                  \
        const default_action = by_0();                                                                 \
        const entries = {                                                                              \
            1 : by_1(); 2 : by_2(); 3 : by_3(); 4 : by_4(); 5 : by_5(); 6 : by_6(); 7 : by_7();        \
        }                                                                                              \
    }                                                                                                  \
    apply { coarse.apply(); fine.apply(); }                                                            \
}
SHIFT(ShiftLeft, <<)
SHIFT(ShiftRight, >>)

// y = x * 2^exponent packets/s in units of 1/64 packet/s: exponents -6 to 22. `x` is a number of packets; the
// controller's limit on it keeps the shift within 31 bits. Exact.
control DiffusionTerm(in bit<7> exponent, in int<32> x, out int<32> y) {
    ShiftLeft() shift;

    apply {
        y = x;
        shift.apply(exponent + 6, y);
    }
}

// y = x * 2^exponent for a rate: exponents 1 to -14. Halving rounds to minus infinity; doubling saturates.
control RateTerm(in bit<7> exponent, in rate_t x, out rate_t y) {
    ShiftRight() shift;

    apply {
        y = x;
        if (exponent == 1) {
            y = x |+| x;
        } else {
            shift.apply(-exponent, y);
        }
    }
}

// sum +- y, saturating.
rate_t added(in rate_t sum, in bit<1> negative, in rate_t y) {
    return negative == 1 ? sum |-| y : sum |+| y;
}

// product = coefficient * x. TimesDiffusion: packets times 1/s; TimesAlpha: a rate.
#define TIMES(CONTROL, TERM)                                                                           \
control CONTROL(in coefficient_t coefficient, in int<32> x, out rate_t product) {                      \
    TERM() term_a;                                                                                     \
    TERM() term_b;                                                                                     \
    TERM() term_c;                                                                                     \
    apply {                                                                                            \
        rate_t a; rate_t b; rate_t c;                                                                  \
        term_a.apply(coefficient.a[6:0], x, a);                                                        \
        term_b.apply(coefficient.b[6:0], x, b);                                                        \
        term_c.apply(coefficient.c[6:0], x, c);                                                        \
        product = added(0, coefficient.a[7:7], a);                                                     \
        product = added(product, coefficient.b[7:7], b);                                               \
        product = added(product, coefficient.c[7:7], c);                                               \
    }                                                                                                  \
}
TIMES(TimesDiffusion, DiffusionTerm)
TIMES(TimesAlpha, RateTerm)
