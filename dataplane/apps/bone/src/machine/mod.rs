//! Round multicast between caches: one hub sends files to many rims over a poor link (*Adaptive Multicasting
//! Cache Bone*).
//!
//! A hub has a [`Method`] and a [`Repair`]. The paper's are *scheduled* (adaptive), *unscheduled*
//! (non-adaptive) and *unicast*, all with Go-Back-N; selective repeat can be combined with each of them.
//!
//! # What the paper leaves open
//!
//! | open in the paper | chosen here |
//! |---|---|
//! | when packets are sent | at a fixed interval: the size is the rate (step 4) |
//! | the "specific number of packets" of a round | a control parameter; fewer at the end of the file |
//! | the formula of the packet size | see [`size`] |
//! | the place of a packet when sizes vary | a packet has its offset in the file and its number |
//! | packets numbered zero | the file's last; with selective repeat, the round's last |
//! | the loss of a round's last packet | a rim reports once the packet is overdue by some grace |
//! | no rim joins | the hub announces the multicast again, a few times |
//! | a rim that joined does not answer | the hub polls it, never guesses, and drops it after a few times |
//! | the same, with selective repeat | the next round goes on, and the rim's next answer tells |
//! | IPM_SEND or the control parameters are lost | a rim that hears more joins, "late" after round 1 |
//! | a late rim | stores what it can; earlier bytes are sent when all others are complete (scheduled) |
//! | a rim leaves | it says so, and the hub does not wait for it |
//! | the loss of a report that says "complete" | the hub polls before it ends; scheduled and unicast |
//! | the end | the hub sends END: rims that are not complete know that nothing more will come |
//! | unscheduled: no report in the middle of a file | rounds go on; silence means success once all is sent |
//! | unicast | one rim after the other, fixed size, without joining; answers are not optional |
//! | a rim has the file already | it leaves; with unicast, the next rim's turn follows the round |
//! | the choice of files | the hub's owner; a rim may ask for one by name (ASK), repeatedly until answered |
//! | which hub a rim asks | the hub heard last; an idle hub may announce its presence (HERE) |
//!
//! # Many rims
//!
//! Above a number of rims (`HubConfig::crowd`) not all answer: answers are spread over a window, the rims
//! that lack the earliest bytes first, and the hub tells all rims which bytes were asked for (HEARD). A rim
//! that lacks nothing else stays silent. When all is sent, the hub polls the rims that have not said that
//! they are complete, by number where they are few.
//!
//! # Bounds
//!
//! A hub keeps ranges of missing bytes, at most 64 of each report, and an entry for each rim. A rim keeps up
//! to 4,096 separate pieces of a file, as offsets.

mod asking; // a rim's requests for missing files
mod group; // the rims that take part, and their answers
mod hub; // `Hub`, the machine that sends
mod job; // a file to send, its transfer and the report on it
pub mod message; // the messages and their bytes, with names of files, rims and transfers
mod reception; // the parts of a file that a rim has
mod rim; // `Rim`, the machine that receives
mod size; // the size of the next round's packets
pub mod states; // the states and steps of both machines: the paper's two flowcharts

pub use asking::{Asker, WishOutcome, MAX_ASKED};
pub use hub::{Hub, HubConfig, HubEvent};
pub use job::{Offer, TransferOutcome, TransferReport};
pub use message::{FileName, Method, Repair, RimId, TransferId, Verdict};
pub use reception::FileWrite;
pub use rim::{Rim, RimConfig, RimEvent};
