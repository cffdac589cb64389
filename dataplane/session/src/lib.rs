//! The group transport's state machines.
//!
//! Nothing here reads a clock or a socket. A machine is a value: it is given datagrams and the
//! time ([`Nanos`] since an origin of the owner's choice), and gives packets to send, the time it
//! wants to be called again, and events. Randomness comes from a seed, so two runs are equal.
//!
//! | machine | is |
//! |---|---|
//! | [`sender::Sender`] | who sends a stream into a session: window, pacing, repair |
//! | [`receiver::Receiver`] | who receives one: order, NACKs, acknowledgements |
//! | [`cache::CacheAgent`] | the agent beside a switch: caches, repairs, acknowledges |
//! | [`listener::Listener`] | who takes a session's streams as TCP connections |
//! | [`member::Member`] | the membership that each of them contains |
//! | [`fanout::Stream`] | a TCP connection that is split at agents, as offsets |

pub mod acks;
pub mod assembly;
pub mod cache;
pub mod cache_report;
pub mod control;
pub mod fanout;
mod flight;
pub mod ids;
mod incoming;
pub mod intervals;
pub mod listener;
pub mod member;
pub mod nack;
pub mod outbox;
mod polls;
pub mod rate;
pub mod receive_report;
pub mod receiver;
pub mod repair;
mod repeats;
mod reply;
pub mod requesters;
pub mod requests;
pub mod rtt;
pub mod send_report;
pub mod sender;
pub mod source;
pub mod store;
mod stream_cache;
mod stream_table;
mod watch;
pub mod wire;

use groupflow_base::{Datagram, Nanos, Transmit};

pub use ids::{MemberId, Seq, SessionId};

macro_rules! machine {
    ($type:ty) => {
        impl groupflow_base::Machine for $type {
            type Error = wire::WireError;
            fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), wire::WireError> {
                <$type>::handle(self, now, datagram)
            }
            fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
                <$type>::poll_transmit(self, now)
            }
            fn next_deadline(&self) -> Option<Nanos> {
                <$type>::next_deadline(self)
            }
        }
    };
}

machine!(sender::Sender);
machine!(receiver::Receiver);
machine!(cache::CacheAgent);
machine!(listener::Listener);
