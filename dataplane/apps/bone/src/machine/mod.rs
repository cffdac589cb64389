//! Round multicast between caches: one hub sends files to many rims over a poor link (*Adaptive Multicasting Cache
//! Bone*).
//!
//! | here | is |
//! |---|---|
//! | [`Hub`], [`Rim`] | the machines: who sends, who receives |
//! | [`Offer`], [`Report`] | a file to send, and what came of it |
//! | [`states`] | the steps each of them takes: the paper's two flowcharts |
//! | [`message`] | what they tell each other |
//! | [`asking`] | a rim asks for files that it lacks |
//! | [`size`] | the size of the next round's packets |
//! | [`plan`] | which packets a round has |
//! | [`coding`] | blocks of erasure coding |
//! | [`reception`] | what a rim has, and lacks |
//! | [`group`] | who takes part, and has answered |
//!
//! A hub has a [`Method`] and a [`Repair`]. The paper's are *scheduled* (adaptive), *unscheduled* (non-adaptive) and
//! *unicast*, all with Go-Back-N; selective repeat and erasure coding go with each of them.
//!
//! # What the paper leaves open
//!
//! | open | here |
//! |---|---|
//! | when packets leave | at a fixed interval: "adapts the transmission rate by adjusting the packet size" |
//! | "specific number of packets" in a round | the control parameters have it; fewer at the end of the file |
//! | the formula of the packet size | see [`size`] |
//! | where a packet belongs, when sizes vary | its offset in the file is in it, besides its number in the round |
//! | packets numbered zero | the file's last one; with selective repeat and erasure coding the round's: rounds are short there |
//! | the round's last packet is lost | a rim reports when it should have come, and some grace is over |
//! | no rim joins | the hub announces again, a few times |
//! | a rim that joined does not answer | it is asked, and nothing is sent again on a guess; with selective repeat the next round goes on, and its answer tells; after a few times it is let go |
//! | IPM_SEND or the control parameters are lost | a rim that hears of an unknown multicast joins then ("late", after the first round) |
//! | a late rim | stores what it can; what it lacks of before is sent when all others are complete (scheduled) |
//! | a rim leaves | it says so, and is not waited for |
//! | a report that says "complete" is lost | the hub asks (POLL) before it ends; scheduled and unicast |
//! | the end | the hub says so (END): rims that are not complete know that nothing more will come |
//! | unscheduled: a round in the middle of which nobody reports | goes on; silence is success when all was sent |
//! | unscheduled: the control parameters | are sent before every round |
//! | unicast | one rim after the other, fixed size, without joining; answers are not optional |
//! | a rim has the file already | it leaves; of unicast, it is the next rim's turn after the round |
//! | who chooses the files | the hub's owner; a rim may ask for one by its name (ASK), again and again until answered |
//! | which hub a rim asks | the one it heard last; a hub may say that it is there (HERE) while it has nothing to send |
//!
//! # Many rims
//!
//! Above a number of rims (`HubConfig::crowd`) not all answer: answers are spread over a window, the rims that lack
//! the earliest bytes first, and the hub tells all what was asked for (HEARD). Who lacks no more is silent. When
//! all is sent, those that have not said that they are complete are asked, by number where they are few.
//!
//! # Bounds
//!
//! A hub keeps ranges of bytes that are lacking, at most 64 of each report, a block of erasure coding (1 MiB and as
//! much again), and an entry a rim. A rim keeps up to 4,096 pieces of a file that are apart, as offsets, and the
//! packets of one block.

pub mod asking;
mod codec;
pub mod coding;
pub mod group;
mod hub;
mod job;
pub mod message;
mod names;
pub mod plan;
pub mod reception;
mod rim;
pub mod size;
pub mod states;
mod transfer;

pub use asking::{Asked, Asker};
pub use hub::{Hub, HubConfig, HubEvent};
pub use message::{Method, Repair, Verdict};
pub use names::{FileName, RimId, TransferId, MAX_NAME};
pub use reception::Write;
pub use rim::{Rim, RimConfig, RimEvent};
pub use states::{HubState, RimState};
pub use transfer::{Offer, Outcome, Report};
