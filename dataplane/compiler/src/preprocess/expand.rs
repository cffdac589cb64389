//! Macros: definition and expansion, with arguments, `#` and `##`.

use std::collections::VecDeque;
use std::rc::Rc;

use super::{Preprocessor, MOST_TOKENS};
use crate::source::{Name, Span};
use crate::token::{Kind, Token};

/// The name by which the body of a macro uses the arguments of `...`.
const REST: &str = "__VA_ARGS__";

/// A macro of `#define`.
pub struct Macro {
    /// The names of the parameters; `None` for a macro without parentheses. `__VA_ARGS__`, the name of `...`,
    /// takes all further arguments.
    parameters: Option<Vec<Name>>,
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
        if matches!(rest.first(), Some(open) if open.is("(") && !open.spaced) {
            let Some(close) = rest.iter().position(|word| word.is(")")) else {
                self.diagnostics.error(rest[0].span, "the parameters of this macro have no `)`");
                return;
            };
            let inside = rest[1..close].iter().filter(|word| !word.is(","));
            let name = |word: &Token| if word.is("...") { REST.into() } else { word.text.clone() };
            parameters = Some(inside.map(name).collect());
            rest = &rest[close + 1..];
        }
        let made = Macro { parameters, body: rest.to_vec(), defined: name.span };
        if let Some(old) = self.macros.get(&name.text) {
            if !same(&old.body, &made.body) || old.parameters != made.parameters {
                let old = old.defined;
                let message = format!("the macro `{}` is defined again, as something else", name.text);
                self.diagnostics.warning(name.span, message).note(old, "its first definition");
            }
        }
        self.macros.insert(name.text.clone(), Rc::new(made));
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
        let Some(found) = self.macros.get(&word.text).cloned() else { return false };
        let body = match &found.parameters {
            None => join(found.body.clone()),
            Some(_) if !matches!(left.front(), Some(open) if open.is("(")) => return false,
            Some(parameters) => {
                let Some(arguments) = self.arguments(word, parameters, found.defined, left) else {
                    return true;
                };
                self.substitute(&found.body, parameters, &arguments)
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
        &mut self, word: &Token, parameters: &[Name], defined: Span, left: &mut VecDeque<Token>,
    ) -> Option<Vec<Vec<Token>>> {
        left.pop_front();
        let variadic = parameters.iter().any(|one| &**one == REST);
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
        let message = format!("macro `{}` takes {wants} arguments, and {has} are given", word.text);
        self.diagnostics.error(word.span, message).note(defined, "defined here");
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
                    made.push(Token { kind: Kind::Text, text: text.into(), ..placeless(word) });
                    words.next();
                    continue;
                }
            }
            // Beside `##` an argument stands as it was written.
            let pasted = next.is_some_and(|next| next.kind == Kind::Paste)
                || place > 0 && body[place - 1].kind == Kind::Paste;
            match argument(word) {
                Some(words_of) if pasted => made.extend_from_slice(words_of),
                Some(words_of) => made.extend(self.expand(words_of.clone())),
                None => made.push(placeless(word)),
            }
        }
        join(made)
    }
}

/// A word of a body, before it is known where the macro is used.
fn placeless(word: &Token) -> Token {
    Token { span: Span::default(), ..word.clone() }
}

/// Makes one word of those on the sides of each `##`.
fn join(words: Vec<Token>) -> Vec<Token> {
    let mut joined: Vec<Token> = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word.kind == Kind::Paste {
            if let (Some(mut left), Some(right)) = (joined.pop(), words.next()) {
                left.kind = if left.kind == Kind::Mark { right.kind } else { left.kind };
                left.text = format!("{}{}", left.text, right.text).into();
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
