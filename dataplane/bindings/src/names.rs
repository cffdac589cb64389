//! The words that Python uses for the wire's enums.

use groupflow_session::control::{LeaveReason, NoticeKind, Refusal, ReportKind, Role, StartAt};
use groupflow_transport::terms::{Mode, Policy};
use pyo3::exceptions::PyValueError;
use pyo3::PyErr;

/// Gives an enum of the wire a word for each value, in both directions.
macro_rules! words {
    ($kind:ident, $field:literal, $($value:ident = $word:literal),+ $(,)?) => {
        impl Keyword for $kind {
            fn word(self) -> &'static str {
                match self { $($kind::$value => $word),+ }
            }
            fn from_word(word: &str) -> Result<Self, PyErr> {
                match word {
                    $($word => Ok($kind::$value),)+
                    other => Err(PyValueError::new_err(format!(
                        "{} is {other:?}: use one of {}", $field, [$($word),+].join(", ")
                    ))),
                }
            }
        }
    };
}

/// An enum that has a word for each of its values.
pub trait Keyword: Sized {
    /// The value's word.
    fn word(self) -> &'static str;
    /// The value of a word, or a ValueError that lists the words.
    fn from_word(word: &str) -> Result<Self, PyErr>;
}

words!(Role, "role", Sender = "sender", Receiver = "receiver", Cache = "cache", Listener = "listener");
words!(StartAt, "start", Now = "now", Start = "start", Resume = "resume");
words!(LeaveReason, "reason", Done = "done", Aborted = "aborted");
words!(Mode, "mode", EndToEnd = "e2e", NodeToNode = "n2n");
words!(Policy, "policy", Strict = "strict", Isolate = "isolate");
words!(
    ReportKind,
    "kind",
    SlowBranch = "slow",
    CaughtUp = "caught_up",
    Complete = "complete",
    CacheFull = "cache_full",
    CacheRoom = "cache_room",
);
words!(
    Refusal,
    "code",
    UnknownSession = "unknown_session",
    WrongToken = "wrong_token",
    SessionFull = "full",
    BadRequest = "bad_request",
    NoSuchSource = "no_source",
    Expired = "expired",
    Unavailable = "unavailable",
);
words!(
    NoticeKind,
    "what",
    MemberJoined = "joined",
    MemberLeft = "left",
    MemberLost = "lost",
    SessionDeleted = "deleted",
    SwitchLost = "switch_lost",
    SwitchBack = "switch_back",
    AgentLost = "agent_lost",
    AgentBack = "agent_back",
    MemberComplete = "complete",
);
