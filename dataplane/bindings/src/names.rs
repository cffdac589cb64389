//! The words that Python uses for the wire's enums.

use groupflow_session::control::NoticeKind;
use pyo3::exceptions::PyValueError;
use pyo3::PyErr;

/// The value among `all` that has this word, or a ValueError that lists the words.
pub fn named<T: Copy>(
    field: &str, all: &[T], word: impl Fn(T) -> &'static str, text: &str,
) -> Result<T, PyErr> {
    all.iter().copied().find(|&value| word(value) == text).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|&value| word(value)).collect();
        PyValueError::new_err(format!("{field} is {text:?}: use one of {}", words.join(", ")))
    })
}

/// A notice's word for the controller: about members, and about the session if it does not say otherwise.
pub fn notice_word(kind: NoticeKind) -> &'static str {
    let word = kind.word();
    word.strip_prefix("member_").or(word.strip_prefix("session_")).unwrap_or(word)
}
