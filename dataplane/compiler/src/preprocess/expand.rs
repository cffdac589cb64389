//! Macros: definition and expansion, with arguments, `#` and `##`.

use std::collections::VecDeque;

use super::{Preprocessor, MOST_TOKENS};
use crate::source::{Name, Span};
use crate::token::{Kind, Token};

/// A macro of `#define`.
pub struct Macro {
    /// The names of the parameters; `None` for a macro without parentheses.
    parameters: Option<Vec<Name>>,
    /// Whether the last parameter takes all further arguments: `...`.
    variadic: bool,
    body: Vec<Token>,
    defined: Span,
}

impl Preprocessor<'_> {
    /// Reads the rest of a `#define` line.
    pub fn define(&mut self, line: &[Token], directive: Span) {
        let Some(name) = line.first().filter(|name| name.kind == Kind::Identifier) else {
            self.diagnostics.error(directive, "`#define` needs the name of a macro");
            return;
        };
        let mut rest = &line[1..];
        let mut parameters = None;
        let mut variadic = false;
        if matches!(rest.first(), Some(open) if open.is("(") && !open.spaced) {
            let Some(close) = rest.iter().position(|word| word.is(")")) else {
                self.diagnostics.error(rest[0].span, "the parameters of this macro have no `)`");
                return;
            };
            let inside = rest[1..close].iter().filter(|word| !word.is(","));
            variadic = inside.clone().any(|word| word.is("..."));
            let dots = Name::from("__VA_ARGS__");
            parameters = Some(
                inside
                    .map(|word| if word.is("...") { dots.clone() } else { word.text.clone() })
                    .collect::<Vec<_>>(),
            );
            rest = &rest[close + 1..];
        }
        let made = Macro { parameters, variadic, body: rest.to_vec(), defined: name.span };
        if let Some(old) = self.macros.get(&name.text) {
            if !same(&old.body, &made.body) || old.parameters != made.parameters {
                let old = old.defined;
                let message = format!("the macro `{}` is defined again, as something else", name.text);
                self.diagnostics.warning(name.span, message).note(old, "its first definition");
            }
        }
        self.macros.insert(name.text.clone(), made);
    }

    /// Replaces all macros in `words`.
    pub fn expand(&mut self, words: Vec<Token>) -> Vec<Token> {
        let mut left = VecDeque::from(words);
        let mut done = Vec::new();
        while let Some(word) = left.pop_front() {
            if !self.replace(&word, &mut left) {
                done.push(word);
            }
            if self.expanded > MOST_TOKENS {
                break;
            }
        }
        done
    }

    /// Puts the body of the macro that `word` names before the words that are left.
    fn replace(&mut self, word: &Token, left: &mut VecDeque<Token>) -> bool {
        if word.kind != Kind::Identifier || word.hidden.holds(&word.text) {
            return false;
        }
        let Some(found) = self.macros.get(&word.text) else { return false };
        let (parameters, variadic, body) = (found.parameters.clone(), found.variadic, found.body.clone());
        let body = match parameters {
            None => join(body, &mut self.interner),
            Some(parameters) => {
                if !matches!(left.front(), Some(open) if open.is("(")) {
                    return false;
                }
                let Some(arguments) = self.arguments(word, &parameters, variadic, left) else { return true };
                self.substitute(&body, &parameters, &arguments)
            }
        };
        self.expanded += body.len();
        if self.expanded > MOST_TOKENS {
            self.diagnostics.error(word.span, format!("macros make more than {MOST_TOKENS} words"));
            return true;
        }
        for mut made in body.into_iter().rev() {
            // The words of an argument keep their place; those of the body stand where the macro is used.
            made.hidden = made.hidden.and(word.text.clone());
            if made.span == Span::default() {
                made.span = word.span;
            }
            made.first = false;
            left.push_front(made);
        }
        true
    }

    /// Takes `(a, b)` off the words that are left.
    fn arguments(
        &mut self, word: &Token, parameters: &[Name], variadic: bool, left: &mut VecDeque<Token>,
    ) -> Option<Vec<Vec<Token>>> {
        left.pop_front();
        let mut arguments = vec![Vec::new()];
        let mut depth = 0_usize;
        loop {
            let Some(next) = left.pop_front() else {
                self.diagnostics
                    .error(word.span, format!("the arguments of macro `{}` have no `)`", word.text));
                return None;
            };
            let takes_all = variadic && arguments.len() == parameters.len();
            match &*next.text {
                ")" if depth == 0 => break,
                "," if depth == 0 && !takes_all => {
                    arguments.push(Vec::new());
                    continue;
                }
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            if let Some(last) = arguments.last_mut() {
                last.push(next);
            }
        }
        if parameters.is_empty() && arguments.len() == 1 && arguments[0].is_empty() {
            arguments.clear();
        }
        if variadic && arguments.len() + 1 == parameters.len() {
            arguments.push(Vec::new());
        }
        if arguments.len() == parameters.len() {
            return Some(arguments);
        }
        let (wants, has) = (parameters.len(), arguments.len());
        let defined = self.macros.get(&word.text).map(|one| one.defined);
        let message = format!("macro `{}` takes {wants} arguments, and {has} are given", word.text);
        let error = self.diagnostics.error(word.span, message);
        if let Some(defined) = defined {
            error.note(defined, "defined here");
        }
        None
    }

    /// The body with the arguments in it.
    fn substitute(&mut self, body: &[Token], parameters: &[Name], arguments: &[Vec<Token>]) -> Vec<Token> {
        let argument = |word: &Token| {
            let place = parameters.iter().position(|parameter| *parameter == word.text)?;
            Some(&arguments[place])
        };
        let mut made: Vec<Token> = Vec::new();
        let mut words = body.iter().enumerate().peekable();
        while let Some((place, word)) = words.next() {
            let next = words.peek().map(|(_, next)| *next);
            if word.kind == Kind::Hash {
                if let Some(words_of) = next.and_then(argument) {
                    let text = format!("{:?}", spell(words_of));
                    made.push(Token { kind: Kind::Text, text: self.interner.name(&text), ..placeless(word) });
                    words.next();
                    continue;
                }
            }
            match argument(word) {
                // Beside `##` an argument stands as it was written.
                Some(words_of) => {
                    let pasted = next.is_some_and(|next| next.kind == Kind::Paste)
                        || place > 0 && body[place - 1].kind == Kind::Paste;
                    let words_of = if pasted { words_of.clone() } else { self.expand(words_of.clone()) };
                    made.extend(words_of);
                }
                None => made.push(placeless(word)),
            }
        }
        join(made, &mut self.interner)
    }
}

/// A word of a body, before it is known where the macro is used.
fn placeless(word: &Token) -> Token {
    Token { span: Span::default(), ..word.clone() }
}

/// Makes one word of those on the sides of each `##`.
fn join(words: Vec<Token>, interner: &mut crate::source::Interner) -> Vec<Token> {
    let mut joined: Vec<Token> = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word.kind == Kind::Paste {
            if let (Some(mut left), Some(right)) = (joined.pop(), words.next()) {
                let text = format!("{}{}", left.text, right.text);
                left.kind = if left.kind == Kind::Mark { right.kind } else { left.kind };
                left.text = interner.name(&text);
                joined.push(left);
            }
            continue;
        }
        joined.push(word);
    }
    joined
}

/// The text of words, as `#` writes it.
fn spell(words: &[Token]) -> String {
    let mut text = String::new();
    for (place, word) in words.iter().enumerate() {
        if place > 0 && word.spaced {
            text.push(' ');
        }
        text.push_str(&word.text);
    }
    text
}

fn same(one: &[Token], other: &[Token]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.text == other.text)
}
