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

const int<32> DEPTH_MAX = 0x3fffffff;   // 2^30-1: the difference of two of them fits in 32 bits
int<32> depth_of(in bit<32> n) { return (int<32>)minimum(n, (bit<32>)DEPTH_MAX); }

struct coefficient_t {
    term_t a;
    term_t b;
    term_t c;
}

// y = x shifted by `count` bits; 32 and more leave 0. Each of two steps, by a multiple of 8 and by the rest,
// is a table of constant shifts, so that three terms side by side have 24 instructions in a stage. Tables and
// actions are hidden from P4Info: their contents are fixed.
#define BY(OP, K) @hidden action by_##K() { y = y OP K; }
#define FROM(OP, K) @hidden action from_##K() { y = x OP K; }
#define SHIFT(CONTROL, OP)                                                                             \
control CONTROL(in bit<7> count, in int<32> x, out int<32> y) {                                        \
    @hidden action none() { y = 0; }                                                                   \
    FROM(OP, 0) FROM(OP, 8) FROM(OP, 16) FROM(OP, 24)                                                  \
    @hidden action by_0() { }                                                                          \
    BY(OP, 1) BY(OP, 2) BY(OP, 3) BY(OP, 4) BY(OP, 5) BY(OP, 6) BY(OP, 7)                              \
    @hidden table coarse {                                                                             \
        key = { count[6:3] : exact; }                                                                  \
        actions = { none; from_0; from_8; from_16; from_24; }                                          \
        const default_action = none();                                                                 \
        const entries = { 0 : from_0(); 1 : from_8(); 2 : from_16(); 3 : from_24(); }                  \
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

    apply { shift.apply(exponent + 6, x, y); }
}

// y = x * 2^exponent for a rate: exponents 1 to -14. Halving rounds to minus infinity; doubling saturates.
control RateTerm(in bit<7> exponent, in rate_t x, out rate_t y) {
    ShiftRight() shift;

    STEP(copy, y = x;)
    STEP(double, y = y |+| x;)

    apply {
        if (exponent == 1) {
            copy.apply();
            double.apply();
        } else {
            shift.apply(-exponent, x, y);
        }
    }
}

// product = coefficient * x, saturating. TimesDiffusion: packets times 1/s; TimesAlpha: a rate.
#define ADD(TERM)                                                                                      \
    STEP(minus_##TERM, product = product |-| TERM;)                                                    \
    STEP(plus_##TERM, product = product |+| TERM;)
#define ADDED(TERM)                                                                                    \
        if (coefficient.TERM[7:7] == 1) { minus_##TERM.apply(); } else { plus_##TERM.apply(); }
#define TIMES(CONTROL, TERM)                                                                           \
control CONTROL(in coefficient_t coefficient, in int<32> x, out rate_t product) {                      \
    TERM() term_a;                                                                                     \
    TERM() term_b;                                                                                     \
    TERM() term_c;                                                                                     \
    rate_t b; rate_t c;                                                                                \
    STEP(negate, product = 0 |-| product;)                                                             \
    ADD(b) ADD(c)                                                                                      \
    apply {                                                                                            \
        term_a.apply(coefficient.a[6:0], x, product);                                                  \
        term_b.apply(coefficient.b[6:0], x, b);                                                        \
        term_c.apply(coefficient.c[6:0], x, c);                                                        \
        if (coefficient.a[7:7] == 1) { negate.apply(); }                                               \
        ADDED(b) ADDED(c)                                                                              \
    }                                                                                                  \
}
TIMES(TimesDiffusion, DiffusionTerm)
TIMES(TimesAlpha, RateTerm)
