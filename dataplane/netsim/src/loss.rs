//! The losses of a link.

use groupflow_base::Nanos;
use groupflow_switch::core::Loss;
use serde::Deserialize;

use crate::random::Random;

/// The rule by which a link loses frames; proportions are in parts of 10^9.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(tag = "model", rename_all = "snake_case", deny_unknown_fields)]
pub enum LossSpec {
    #[default]
    None,
    /// Each frame is lost independently.
    Bernoulli { loss_ppb: u32 },
    /// In bursts (Gilbert 1960, Elliott 1963): a good and a bad state, with a step between them before
    /// each frame.
    GilbertElliott { to_bad_ppb: u32, to_good_ppb: u32, good_loss_ppb: u32, bad_loss_ppb: u32 },
}

#[derive(Debug)]
pub enum LossProcess {
    None,
    Bernoulli(Loss),
    GilbertElliott {
        /// The probabilities of leaving each state: good, bad.
        leave: [Loss; 2],
        /// The proportions lost in each state.
        lose: [Loss; 2],
        /// Whether the link is in the bad state.
        bad: bool,
    },
}

impl LossProcess {
    /// A loss model; `None` if a proportion is above the whole.
    pub fn new(spec: LossSpec) -> Option<LossProcess> {
        let loss = Loss::parts_per_billion;
        Some(match spec {
            LossSpec::None | LossSpec::Bernoulli { loss_ppb: 0 } => LossProcess::None,
            LossSpec::Bernoulli { loss_ppb } => LossProcess::Bernoulli(loss(loss_ppb)?),
            LossSpec::GilbertElliott { to_bad_ppb, to_good_ppb, good_loss_ppb, bad_loss_ppb } => {
                LossProcess::GilbertElliott {
                    leave: [loss(to_bad_ppb)?, loss(to_good_ppb)?],
                    lose: [loss(good_loss_ppb)?, loss(bad_loss_ppb)?],
                    bad: false,
                }
            }
        })
    }

    /// Whether the next frame is lost.
    #[inline]
    pub fn loses(&mut self, random: &mut Random) -> bool {
        match self {
            LossProcess::None => false,
            LossProcess::Bernoulli(loss) => loss.hits(random.next_u32()),
            LossProcess::GilbertElliott { leave, lose, bad } => {
                *bad ^= leave[usize::from(*bad)].hits(random.next_u32());
                lose[usize::from(*bad)].hits(random.next_u32())
            }
        }
    }
}

/// Bit errors of the frames that leave by a port: a long frame is lost more often than a short one. The
/// distance from one error to the next is exponentially distributed.
#[derive(Debug)]
pub struct BitErrors {
    /// Bytes from one error to the next.
    mean: u64,
    random: Random,
    /// Bytes until the next error.
    left: u64,
    pub damaged: u64,
}

impl BitErrors {
    pub fn new(mean: u64, mut random: Random) -> BitErrors {
        let left = random.exponential(Nanos(mean)).0;
        BitErrors { mean, random, left, damaged: 0 }
    }

    /// Whether a frame of `bytes` bytes is damaged.
    pub fn damage(&mut self, bytes: u64) -> bool {
        if self.left >= bytes {
            self.left -= bytes;
            return false;
        }
        // Exponential distances have no memory, so that the count begins anew with the next frame.
        self.left = self.random.exponential(Nanos(self.mean)).0;
        self.damaged += 1;
        true
    }
}

#[cfg(test)]
#[path = "tests/loss.rs"]
mod tests;
