//! The losses of a link.

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
    Bernoulli {
        /// The proportion lost.
        loss_ppb: u32,
    },
    /// In bursts (Gilbert 1960, Elliott 1963): a good and a bad state, with a step between them before
    /// each frame.
    GilbertElliott {
        /// The probability of a step from good to bad, for each frame.
        to_bad_ppb: u32,
        /// The probability of a step from bad to good, for each frame.
        to_good_ppb: u32,
        /// The proportion lost in the good state.
        good_loss_ppb: u32,
        /// The proportion lost in the bad state.
        bad_loss_ppb: u32,
    },
}

/// A loss model at work.
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

#[cfg(test)]
#[path = "tests/loss.rs"]
mod tests;
