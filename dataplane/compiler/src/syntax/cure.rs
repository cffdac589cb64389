//! Cures for mistakes of the syntax: the words around one tell what was meant, often a form of another
//! language.

use super::cursor::Parser;

impl Parser<'_> {
    /// The form that was meant probably at the word at hand, where another was wanted.
    pub fn cure(&self, wanted: &str) -> Option<String> {
        let before = &self.words[self.place.saturating_sub(1)];
        let cure = match [wanted, &*before.text, &*self.word().text, &*self.ahead(1).text] {
            [")", _, "=", _] | [_, "==" | "!=", "=", _] => "`==` and `!=` compare",
            [_, "<", ">", _] => "`!=` compares; `bit<8>` has a width",
            [_, _, "==", _] | [_, _, ":", "="] | [_, _, "<", "-"] => "`=` assigns",
            [_, _, "++", _] | [_, _, "-", "-"] => "`x = x + 1;`: P4 has no `++` and `--`",
            [_, _, "-", ">"] | [_, _, ":", ":"] => "`.` stands before a member",
            ["`=` or the arguments of a call", _, ";", _] => "a call is `drop();` or `table.apply();`",
            [_, _, "in", _] => "`x == 1 || x == 2`",
            [_, "=", "if", _] => "`condition ? a : b`",
            [_, "then", ..] => "P4 has no `then`",
            [_, "exit", "(", _] => "`exit;`",
            ["a value", _, "transition", _] => "a transition is the end of a state, outside of `if`",
            ["a value", _, "select", _] | [_, "transition", "switch", _] => "`transition select (...)`",
            [_, "transition", ..] | [_, "goto", ..] => "`transition accept;`",
            ["the name of a constant", _, "=", _] => "`const bit<8> NAME = ...`",
            [_, _, "include", _] => "`#include <core.p4>`",
            [_, _, ".", _] => "a name without `.` belongs here",
            [_, "}", "}", _] => "a `}` before this one is too many",
            _ => return None,
        };
        Some(cure.to_owned())
    }
}
