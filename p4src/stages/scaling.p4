// Multiplication by a coefficient that only the controller knows, on hardware that cannot multiply two variables: a
// coefficient is a sum of three signed powers of two, and each power is a shift by a constant that a table selects.
//
// A term of a coefficient is 8 bits: bit 7 the sign (1: subtract), bits 6..0 the exponent in two's complement. So
// 0x00 is +1, 0x83 is -8, 0x7e is +1/4. 0x40 (exponent -64) is no term, and so is any exponent without a table entry.
#ifndef _GROUPFLOW_SCALING_
#define _GROUPFLOW_SCALING_

typedef bit<8> term_t;
const term_t NO_TERM = 0x40;
const term_t ONE     = 0x00;

// The largest rate: what `no limit` is clamped to. 2^31-1 units are 33.5 million packets/s.
const rate_t RATE_MAX = 0x7fffffff;

struct coefficient_t {
    term_t a;
    term_t b;
    term_t c;
}

// Tables and actions are hidden from P4Info: what they hold is fixed.
#define SHIFT_LEFT(K)  @hidden action left_##K()  { y = x << K; }
#define SHIFT_RIGHT(K) @hidden action right_##K() { y = x >> K; }

// y = x * 2^exponent packets/s in units of 1/64 packet/s. `x` is a number of packets; the controller's limit on it keeps
// the shift within 31 bits. Exact.
control DiffusionTerm(in bit<7> exponent, in int<32> x, out int<32> y) {
    @hidden action none() { y = 0; }
    SHIFT_LEFT(0)  SHIFT_LEFT(1)  SHIFT_LEFT(2)  SHIFT_LEFT(3)  SHIFT_LEFT(4)  SHIFT_LEFT(5)  SHIFT_LEFT(6)
    SHIFT_LEFT(7)  SHIFT_LEFT(8)  SHIFT_LEFT(9)  SHIFT_LEFT(10) SHIFT_LEFT(11) SHIFT_LEFT(12) SHIFT_LEFT(13)
    SHIFT_LEFT(14) SHIFT_LEFT(15) SHIFT_LEFT(16) SHIFT_LEFT(17) SHIFT_LEFT(18) SHIFT_LEFT(19) SHIFT_LEFT(20)
    SHIFT_LEFT(21) SHIFT_LEFT(22) SHIFT_LEFT(23) SHIFT_LEFT(24) SHIFT_LEFT(25) SHIFT_LEFT(26) SHIFT_LEFT(27)
    SHIFT_LEFT(28)

    @hidden
    table shift {
        key = { exponent : exact; }
        actions = {
            none; left_0; left_1; left_2; left_3; left_4; left_5; left_6; left_7; left_8; left_9; left_10; left_11;
            left_12; left_13; left_14; left_15; left_16; left_17; left_18; left_19; left_20; left_21; left_22; left_23;
            left_24; left_25; left_26; left_27; left_28;
        }
        const default_action = none();
        const entries = {
            0x7a : left_0();  0x7b : left_1();  0x7c : left_2();  0x7d : left_3();  0x7e : left_4();  0x7f : left_5();
            0x00 : left_6();  0x01 : left_7();  0x02 : left_8();  0x03 : left_9();  0x04 : left_10(); 0x05 : left_11();
            0x06 : left_12(); 0x07 : left_13(); 0x08 : left_14(); 0x09 : left_15(); 0x0a : left_16(); 0x0b : left_17();
            0x0c : left_18(); 0x0d : left_19(); 0x0e : left_20(); 0x0f : left_21(); 0x10 : left_22(); 0x11 : left_23();
            0x12 : left_24(); 0x13 : left_25(); 0x14 : left_26(); 0x15 : left_27(); 0x16 : left_28();
        }
    }

    apply {
        y = 0;
        shift.apply();
    }
}

// y = x * 2^exponent for a rate: exponents 1 to -14. Halving rounds towards minus infinity; doubling saturates.
control RateTerm(in bit<7> exponent, in rate_t x, out rate_t y) {
    @hidden action none() { y = 0; }
    @hidden action twice() { y = x |+| x; }
    @hidden action once() { y = x; }
    SHIFT_RIGHT(1)  SHIFT_RIGHT(2)  SHIFT_RIGHT(3)  SHIFT_RIGHT(4)  SHIFT_RIGHT(5)  SHIFT_RIGHT(6)  SHIFT_RIGHT(7)
    SHIFT_RIGHT(8)  SHIFT_RIGHT(9)  SHIFT_RIGHT(10) SHIFT_RIGHT(11) SHIFT_RIGHT(12) SHIFT_RIGHT(13) SHIFT_RIGHT(14)

    @hidden
    table shift {
        key = { exponent : exact; }
        actions = {
            none; twice; once; right_1; right_2; right_3; right_4; right_5; right_6; right_7; right_8; right_9;
            right_10; right_11; right_12; right_13; right_14;
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

// product = d * n: packets times 1/s.
control TimesDiffusion(in coefficient_t d, in int<32> n, out rate_t product) {
    DiffusionTerm() term_a;
    DiffusionTerm() term_b;
    DiffusionTerm() term_c;

    apply {
        rate_t a; rate_t b; rate_t c;
        term_a.apply(d.a[6:0], n, a);
        term_b.apply(d.b[6:0], n, b);
        term_c.apply(d.c[6:0], n, c);
        product = added(0, d.a[7:7], a);
        product = added(product, d.b[7:7], b);
        product = added(product, d.c[7:7], c);
    }
}

// product = alpha * r.
control TimesAlpha(in coefficient_t alpha, in rate_t r, out rate_t product) {
    RateTerm() term_a;
    RateTerm() term_b;
    RateTerm() term_c;

    apply {
        rate_t a; rate_t b; rate_t c;
        term_a.apply(alpha.a[6:0], r, a);
        term_b.apply(alpha.b[6:0], r, b);
        term_c.apply(alpha.c[6:0], r, c);
        product = added(0, alpha.a[7:7], a);
        product = added(product, alpha.b[7:7], b);
        product = added(product, alpha.c[7:7], c);
    }
}

#endif
