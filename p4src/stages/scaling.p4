// Multiplication by a coefficient that only the controller knows, on hardware that cannot multiply two
// variables: a coefficient is a sum of three signed powers of two, and each power is a shift by a constant
// that a table selects.
//
// A term of a coefficient is 8 bits: bit 7 the sign (1: subtract), bits 6..0 the exponent in two's
// complement. So 0x00 is +1, 0x83 is -8, 0x7e is +1/4. 0x40 (exponent -64) is no term, and so is any exponent
// without a table entry.

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

// Tables and actions are hidden from P4Info: their contents are fixed.
#define LEFT(K)  @hidden action left_##K()  { y = x << K; }
#define RIGHT(K) @hidden action right_##K() { y = x >> K; }

// y = x * 2^exponent packets/s in units of 1/64 packet/s. `x` is a number of packets; the controller's limit
// on it keeps the shift within 31 bits. Exact.
control DiffusionTerm(in bit<7> exponent, in int<32> x, out int<32> y) {
    @hidden action none() { y = 0; }
    LEFT(0)  LEFT(1)  LEFT(2)  LEFT(3)  LEFT(4)  LEFT(5)  LEFT(6)  LEFT(7)  LEFT(8)  LEFT(9)
    LEFT(10) LEFT(11) LEFT(12) LEFT(13) LEFT(14) LEFT(15) LEFT(16) LEFT(17) LEFT(18) LEFT(19)
    LEFT(20) LEFT(21) LEFT(22) LEFT(23) LEFT(24) LEFT(25) LEFT(26) LEFT(27) LEFT(28)

    @hidden
    table shift {
        key = { exponent : exact; }
        actions = {
            none; left_0; left_1; left_2; left_3; left_4; left_5; left_6; left_7; left_8; left_9; left_10;
            left_11; left_12; left_13; left_14; left_15; left_16; left_17; left_18; left_19; left_20; left_21;
            left_22; left_23; left_24; left_25; left_26; left_27; left_28;
        }
        const default_action = none();
        const entries = {
            0x7a : left_0();  0x7b : left_1();  0x7c : left_2();  0x7d : left_3();  0x7e : left_4();
            0x7f : left_5();  0x00 : left_6();  0x01 : left_7();  0x02 : left_8();  0x03 : left_9();
            0x04 : left_10(); 0x05 : left_11(); 0x06 : left_12(); 0x07 : left_13(); 0x08 : left_14();
            0x09 : left_15(); 0x0a : left_16(); 0x0b : left_17(); 0x0c : left_18(); 0x0d : left_19();
            0x0e : left_20(); 0x0f : left_21(); 0x10 : left_22(); 0x11 : left_23(); 0x12 : left_24();
            0x13 : left_25(); 0x14 : left_26(); 0x15 : left_27(); 0x16 : left_28();
        }
    }

    apply {
        y = 0;
        shift.apply();
    }
}

// y = x * 2^exponent for a rate: exponents 1 to -14. Halving rounds to minus infinity; doubling saturates.
control RateTerm(in bit<7> exponent, in rate_t x, out rate_t y) {
    @hidden action none() { y = 0; }
    @hidden action twice() { y = x |+| x; }
    @hidden action once() { y = x; }
    RIGHT(1)  RIGHT(2)  RIGHT(3)  RIGHT(4)  RIGHT(5)  RIGHT(6)  RIGHT(7)  RIGHT(8)  RIGHT(9)
    RIGHT(10) RIGHT(11) RIGHT(12) RIGHT(13) RIGHT(14)

    @hidden
    table shift {
        key = { exponent : exact; }
        actions = {
            none; twice; once; right_1; right_2; right_3; right_4; right_5; right_6; right_7; right_8;
            right_9; right_10; right_11; right_12; right_13; right_14;
        }
        const default_action = none();
        const entries = {
            0x01 : twice();    0x00 : once();     0x7f : right_1();  0x7e : right_2();  0x7d : right_3();
            0x7c : right_4();  0x7b : right_5();  0x7a : right_6();  0x79 : right_7();  0x78 : right_8();
            0x77 : right_9();  0x76 : right_10(); 0x75 : right_11(); 0x74 : right_12(); 0x73 : right_13();
            0x72 : right_14();
        }
    }

    apply {
        y = 0;
        shift.apply();
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
