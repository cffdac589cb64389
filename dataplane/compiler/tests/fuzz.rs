//! Inputs of any kind: no message is wrong here, but nothing may panic, end the process or take long.
//! `PROPTEST_CASES=100000` makes more of each.

use groupflow_compiler::source::Files;
use proptest::prelude::*;

use super::{messages, NoFiles};

const PROGRAM: &str = include_str!("golden/all-right.p4");

/// Files that include each other.
struct Circle;

impl Files for Circle {
    fn read(&self, path: &str) -> Option<String> {
        path.ends_with(".inc").then(|| "#include \"again.inc\"\n#include \"other.inc\"\n".to_owned())
    }
}

/// Words that programs are made of, and some that are none.
fn word() -> impl Strategy<Value = String> {
    let known = "bit < > ( ) { } [ ] ; : , . = == ++ &&& .. ... + - * / ! ~ ? @ # \\ \" ' 1 0x 8w255 4294967295 65537w1 \
        header struct parser control table action key actions entries apply state transition select default extern \
        package typedef type enum error match_kind const in out inout if else for switch return exit void int varbit \
        tuple list this _ {#} name T hdr isValid setValid next last size lpm true false /* */ // \n #define #if #endif ##";
    prop::sample::select(known.split(' ').map(str::to_owned).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_has_messages_or_none(text in "\\PC{0,400}") {
        messages("any.p4", &text, &NoFiles);
    }

    #[test]
    fn any_words_have_messages_or_none(words in prop::collection::vec(word(), 0..120)) {
        messages("words.p4", &words.join(" "), &NoFiles);
    }

    #[test]
    fn a_program_with_other_words_in_it(
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..40, word()), 1..6)
    ) {
        let mut text = PROGRAM.to_owned();
        for (place, length, word) in cuts {
            let place = place.index(text.len());
            let end = (place + length).min(text.len());
            text.replace_range(place..end, &word);
        }
        messages("changed.p4", &text, &NoFiles);
    }

    #[test]
    fn sizes_of_any_kind(width in any::<i128>(), index in any::<i64>(), shift in any::<u64>()) {
        let text = format!(
            "header h {{ bit<{width}> a; varbit<{width}> b; }} struct s {{ h[{width}] c; }}
             const int big = 1 << {shift}; const bit<8> part = 8w1 << {shift}; const int much = big * big * big * big;
             control c(inout s x) {{ apply {{ x.c[{index}].a = x.c[{index}].a[{width}:{index}] + ({width} / {index}); }} }}"
        );
        messages("sizes.p4", &text, &NoFiles);
    }
}

/// Each kind of nesting, ten thousand deep.
#[test]
fn deep_nesting_ends_in_a_message() {
    let nests = [
        ("const int a = ", "(", "1", ")", ";"),
        ("const int a = ", "-", "1", "", ";"),
        ("const int a = ", "{", "1", "}", ";"),
        ("const int a = ", "a ? 1 : ", "1", "", ";"),
        ("const bit<", "bit<", "1", ">", "> a = 1;"),
        ("const tuple<", "tuple<", "bool", ">", "> a = {};"),
        ("control c() { apply ", "{", "", "}", "}"),
        ("control c() { apply { ", "if (true) ", ";", "", "} }"),
        ("control c() { apply { ", "if (true) ; else ", ";", "", "} }"),
        ("control c() { apply { a", ".b", "", "", "; } }"),
        ("control c() { apply { a", "(b)", "", "", "; } }"),
        ("control c() { apply { a", "[1]", "", "", " = 1; } }"),
        ("const int a = 1", " + 1", "", "", ";"),
        ("const bit<8> a = 8w1", " ++ 8w1", "", "", ";"),
        ("bit<8>", "[1]", "", "", " a;"),
        ("@a", "(", "", ")", " const int a = 1;"),
        ("#if ", "(", "1", ")", "\n#endif"),
        ("#if ", "!", "1", "", "\n#endif"),
        ("#if ", "1 ? 1 : ", "1", "", "\n#endif"),
        ("#if ", "1 ? ", "1", " : 1", "\n#endif"),
        ("", "\"\n", "", "\\\n", ""),
        ("", "#if 1\n", "", "#endif\n", ""),
        ("struct s { ", "struct s { ", "", "}", "}"),
    ];
    for (start, open, inside, close, end) in nests {
        let text = format!("{start}{}{inside}{}{end}", open.repeat(10_000), close.repeat(10_000));
        messages("deep.p4", &text, &NoFiles);
    }
}

#[test]
fn circles_of_files_and_macros_end() {
    assert!(messages("circle.p4", "#include \"first.inc\"\n", &Circle).contains("circle"));
    messages("macros.p4", "#define A B B\n#define B A A\nA\n", &NoFiles);
    let doubling: String =
        (0..40).map(|number| format!("#define M{number} M{} M{}\n", number + 1, number + 1)).collect();
    assert!(messages("doubling.p4", &format!("{doubling}M0\n"), &NoFiles).contains("words"));
}

/// Types that name each other grow by a power of two: sizes and messages do not.
#[test]
fn types_that_double_end() {
    let mut text = "struct s0 { bit<8> a; bit<8> b; }\n".to_owned();
    for number in 1..60 {
        text += &format!("struct s{number} {{ s{} a; s{} b; }}\n", number - 1, number - 1);
    }
    text += "control c(inout s59 x) { apply { x = { ... }; s59 y = x; if (x == y) { } } }\n";
    messages("doubling.p4", &text, &NoFiles);
    let arrays =
        "struct s { bit<8>[65536][65536][65536] a; }\ncontrol c(inout s x) { apply { x = { ... }; } }\n";
    messages("arrays.p4", arrays, &NoFiles);
}
