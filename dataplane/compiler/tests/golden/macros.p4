// What C's preprocessor makes of macros, as annotations of an action show it in P4Info.
#include <core.p4>
#include <v1model.p4>

struct headers_t { }
struct metadata_t { }

#define NUMBER 12
#define PLUS(x) x+1
#define NAME PLUS
#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)
#define PASTE(a, b) a##b
#define THREE(a, b, c) a ## b ## c
#define ALL(...) <__VA_ARGS__>
#define REST(a, rest...) a:rest
#define COMMA(a, ...) a, ## __VA_ARGS__
#define PAIR(a, b) a:b
#define HERE __LINE__
#define IS_DEFINED defined(NUMBER) && !defined HERE_NOT
#define NOTHING
#define NONE() none
#define OPEN (
#define AGAIN AGAIN + 1
#define ONE OTHER
#define OTHER ONE
#define CHAIN(x) x LINK
#define LINK(x) x CHAIN
#define LON\
G 1 + \
    2 /* a
    comment */ + \  
    3 // and one that goes on \
    + 4

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { transition accept; }
}
control None(inout headers_t hdr, inout metadata_t meta) { apply { } }
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    @lines(LONG, NUM\
BER, 12\
34, a <\
< b, a =\
= b)
    @comments(1 // NUMBER \
        NUMBER
        2 /\
/ NUMBER
        3 /\
* NUMBER */ 4)
    @calls(PLUS(
        3
    ), PLUS
        (NUMBER), PAIR(a,
            b), PLUS NUMBER, NAME(4), NAME (4), PLUS OPEN 3), PLUS(PLUS(1)), PAIR((a, b), [c]), NONE( ), PAIR("a,b)", "c"))
    @conditions(PLUS(
#if NUMBER == 12
        7
#else
        8
#endif
    ))
    @again(AGAIN, ONE, CHAIN(1)(2)(3))
    @pastes(PASTE(NUM, BER), PASTE(, y), PASTE(x, ), PASTE(1, 2), PASTE(a, +), PASTE(<, <), THREE(x, y, z), THREE(x, , z))
    @arguments(ALL(1, 2, (3, 4)), ALL(), REST(1, 2, 3), COMMA(1, 2), COMMA(1), NOTHING, PLUS(NOTHING))
    @texts(TEXT(  a   +
        b  ), TEXT("q\"z"), TEXT(), TEXT_OF(NUMBER), TEXT_OF(x NUMBER))
    @numbers(
#if 010 == 8 && 0b11 == 3 && (NUMBER > 3 ? 1 : 0) && 256 >> 4 == 16 && (0 ? 0 : 1 ? 2 : 0)
        yes
#endif
#if 0
#elifdef NUMBER
        yes
#endif
    )
    @places(__LINE__, HERE, PAIR(__LINE__,
        HERE), TEXT(HERE), TEXT_OF(HERE), PASTE(a, __LINE__), __FILE__)
    @definitions(
#if IS_DEFINED
        yes
#endif
#if defined(__LINE__) && defined __FILE__ && __LINE__ == 84
        yes
#endif
    )
    @strings("one NUMBER
        two NUMBER   and PASTE(a, b) #more
#define INSIDE 5
        three INSIDE \"NUMBER
#undef INSIDE
#ifdef INSIDE
        four
#endif
        five // NUMBER
        six \
        seven NUMBER")
    action act() { }
    table t { actions = { act; } default_action = act(); }
    apply { t.apply(); }
}
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { } }
V1Switch(P(), None(), MyIngress(), MyEgress(), None(), D()) main;
