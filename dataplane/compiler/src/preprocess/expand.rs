//! Macros: definition and expansion, with arguments, `#` and `##`.

use std::collections::VecDeque;
use std::rc::Rc;

use super::{Preprocessor, MOST_TOKENS};
use crate::source::{FileId, Name, Span};
use crate::token::{tokens, Hidden, Kind, Token};

/// The name by which the body of a macro uses the arguments of `...`.
const REST: &str = "__VA_ARGS__";
/// Macros that C has from the start: the place of their use.
const OWN: [&str; 2] = ["__LINE__", "__FILE__"];

/// A macro of `#define`.
pub struct Macro {
    /// The names of the parameters; `None` for a macro without parentheses.
    parameters: Option<Vec<Name>>,
    /// Whether the last parameter takes all further arguments.
    variadic: bool,
    body: Vec<Token>,
    defined: Span,
}

impl Preprocessor<'_> {
    /// Reads the rest of a `#define` line.
    pub fn define(&mut self, directive: &Token, line: &[Token]) {
        let Some(name) = self.macro_name(directive, line) else { return };
        let mut rest = &line[1..];
        let (mut parameters, mut variadic) = (None, false);
        if matches!(rest.first(), Some(open) if open.is("(") && !open.spaced) {
            let Some(close) = rest.iter().position(|word| word.is(")")) else {
                self.error(rest[0].span, "the parameters of this macro have no `)`");
                return;
            };
            let (inside, named) = (&rest[1..close], rest[close.saturating_sub(2)].kind == Kind::Identifier);
            variadic = inside.last().is_some_and(|last| last.is("..."));
            let names =
                inside.iter().filter(|word| !word.is(",") && !word.is("...")).map(|one| one.text.clone());
            parameters = Some(names.chain((variadic && !named).then(|| REST.into())).collect());
            rest = &rest[close + 1..];
        }
        if let Some(first) = rest.first().filter(|first| first.is("=")) {
            let message = format!("the text of macro `{}` begins with `=`", name.text);
            self.diagnostics.warning(first.span, message).help("`#define NAME value`");
        }
        let made = Macro { parameters, variadic, body: rest.to_vec(), defined: name.span };
        if let Some(old) = self.macros.get(&name.text) {
            if spell(&old.body) != spell(&made.body) || old.parameters != made.parameters {
                let old = old.defined;
                let message = format!("the macro `{}` is defined again, as something else", name.text);
                self.diagnostics.warning(name.span, message).note(old, "its first definition");
            }
        }
        self.macros.insert(name.text.clone(), Rc::new(made));
    }

    pub fn is_macro(&self, name: &str) -> bool {
        self.macros.contains_key(name) || OWN.contains(&name)
    }

    /// Replaces all macros in `words`, and in a condition `defined NAME` by 1 or 0.
    pub fn expand(&mut self, words: Vec<Token>) -> Vec<Token> {
        let mut left = VecDeque::from(words);
        let mut done = Vec::new();
        while let Some(word) = left.pop_front() {
            if self.in_condition && word.is("defined") {
                done.push(self.defined(word, &mut left));
            } else if !self.replace(&word, &mut left) {
                done.push(self.own(word));
            }
            if self.expanded > MOST_TOKENS {
                break;
            }
        }
        done
    }

    /// The word, or what stands for it if it is one of C's own macros.
    fn own(&self, word: Token) -> Token {
        let (kind, text) = match &*word.text {
            "__LINE__" => (Kind::Number, self.sources.position(word.span).line.to_string()),
            "__FILE__" => (Kind::Text, format!("\"{}\"", self.sources.file(word.span.file).path)),
            _ => return word,
        };
        Token { kind, text: text.into(), ..word }
    }

    /// Puts the body of the macro that `word` names before the words that are left.
    fn replace(&mut self, word: &Token, left: &mut VecDeque<Token>) -> bool {
        if word.kind != Kind::Identifier || word.hidden.holds(&word.text) {
            return false;
        }
        let Some(found) = self.macros.get(&word.text).cloned() else { return false };
        let (mut body, hidden) = match &found.parameters {
            None => (join(found.body.iter().map(placeless).collect()), word.hidden.clone()),
            Some(_) if !matches!(left.front(), Some(open) if open.is("(")) => return false,
            Some(parameters) => {
                let given = self.arguments(word, parameters, &found, left);
                let Some((given, hidden)) = given else { return true };
                (self.substitute(&found, &given), hidden)
            }
        };
        self.expanded += body.len();
        if self.expanded > MOST_TOKENS {
            self.error(word.span, format!("macros make more than {MOST_TOKENS} words"));
            return true;
        }
        if let Some(first) = body.first_mut() {
            first.spaced = word.spaced;
        }
        for mut made in body.into_iter().rev() {
            // The words of an argument keep their place; those of the body stand where the macro is used.
            if made.span == Span::default() {
                (made.span, made.hidden) = (word.span, hidden.clone());
            }
            made.hidden = made.hidden.and(word.text.clone());
            made.first = false;
            left.push_front(made);
        }
        true
    }

    /// Takes `(a, b)` off the words that are left; its `)` says which names are hidden from the body.
    fn arguments(
        &mut self, word: &Token, parameters: &[Name], found: &Macro, left: &mut VecDeque<Token>,
    ) -> Option<(Vec<Vec<Token>>, Hidden)> {
        left.pop_front();
        let mut arguments = vec![Vec::new()];
        let mut depth = 0_usize;
        let hidden = loop {
            let Some(next) = left.pop_front() else {
                self.error(word.span, format!("the arguments of macro `{}` have no `)`", word.text));
                return None;
            };
            let takes_all = found.variadic && arguments.len() == parameters.len();
            match &*next.text {
                ")" if depth == 0 => break next.hidden,
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
        };
        if parameters.is_empty() && arguments.len() == 1 && arguments[0].is_empty() {
            arguments.clear();
        }
        if found.variadic && arguments.len() + 1 == parameters.len() {
            arguments.push(Vec::new());
        }
        if arguments.len() == parameters.len() {
            return Some((arguments, hidden));
        }
        let (wants, has) = (parameters.len(), arguments.len());
        let message = format!("macro `{}` takes {wants} arguments, and {has} are given", word.text);
        self.error(word.span, message).note(found.defined, "defined here");
        None
    }

    /// The body of a macro, with the arguments in it.
    fn substitute(&mut self, found: &Macro, arguments: &[Vec<Token>]) -> Vec<Token> {
        let argument = |word: &Token| {
            let place = found.parameters.iter().flatten().position(|parameter| *parameter == word.text)?;
            Some(&arguments[place])
        };
        let mut made: Vec<Token> = Vec::new();
        let mut words = found.body.iter().enumerate().peekable();
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
                || place > 0 && found.body[place - 1].kind == Kind::Paste;
            match argument(word) {
                // A word without text stands for no words beside `##`.
                Some(words_of) if pasted && words_of.is_empty() => {
                    made.push(Token { text: "".into(), ..placeless(word) });
                }
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

/// Makes one word of those on the sides of each `##`, if they make one. `, ## nothing` is nothing, as GNU's.
fn join(words: Vec<Token>) -> Vec<Token> {
    let mut joined: Vec<Token> = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let Some(left) = joined.last_mut().filter(|_| word.kind == Kind::Paste) else {
            joined.push(word);
            continue;
        };
        let Some(right) = words.next() else { break };
        match &tokens(&format!("{}{}", left.text, right.text), FileId::default(), 0)[..] {
            [_] if left.is(",") => left.text = "".into(),
            [one] => (left.kind, left.text) = (one.kind, one.text.clone()),
            _ => joined.push(right),
        }
    }
    joined.retain(|word| !word.text.is_empty());
    joined
}

/// The text of words, as `#` writes it.
pub fn spell(words: &[Token]) -> String {
    let mut text = String::new();
    for (place, word) in words.iter().enumerate() {
        if place > 0 && word.spaced {
            text.push(' ');
        }
        text.push_str(&word.text);
    }
    text
}
