//! The losses of a link.

use groupflow_base::{BitRate, Nanos};
use groupflow_switch::core::Loss;
use serde::{Deserialize, Serialize};

use crate::random::Random;

/// The rule by which a link loses frames; proportions are in parts of 10^9.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Each frame is lost independently, and those that a token bucket has no room for.
    Policer {
        /// The proportion lost independently.
        loss_ppb: u32,
        /// The bucket's rate, bit/s.
        rate_bps: u64,
        /// The bucket's depth, bytes.
        bytes: u64,
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
    Policer {
        /// The proportion lost independently.
        loss: Loss,
        rate: BitRate,
        /// The time in which the rate fills the bucket.
        depth: Nanos,
        /// When the bucket is full again.
        full_at: Nanos,
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
            LossSpec::Policer { rate_bps: 0, .. } => return None,
            LossSpec::Policer { loss_ppb, rate_bps, bytes } => {
                let rate = BitRate(rate_bps);
                let (depth, full_at) = (rate.time_for(bytes), Nanos::ZERO);
                LossProcess::Policer { loss: loss(loss_ppb)?, rate, depth, full_at }
            }
        })
    }

    /// Whether the next frame, of so many bytes, is lost.
    #[inline]
    pub fn loses(&mut self, now: Nanos, bytes: u64, random: &mut Random) -> bool {
        match self {
            LossProcess::None => false,
            LossProcess::Bernoulli(loss) => loss.hits(random.next_u32()),
            LossProcess::GilbertElliott { leave, lose, bad } => {
                *bad ^= leave[usize::from(*bad)].hits(random.next_u32());
                lose[usize::from(*bad)].hits(random.next_u32())
            }
            LossProcess::Policer { loss, rate, depth, full_at } => {
                let full = (*full_at).max(now) + rate.time_for(bytes);
                if full > now + *depth {
                    return true;
                }
                *full_at = full;
                loss.hits(random.next_u32())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Draws;

    fn run(spec: LossSpec, frames: usize) -> Vec<bool> {
        let mut random = Random::new(11, Draws::Link(0));
        let mut process = LossProcess::new(spec).expect("proportions");
        (0..frames).map(|_| process.loses(Nanos::ZERO, 1000, &mut random)).collect()
    }

    fn proportion(lost: &[bool]) -> f64 {
        lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
    }

    #[test]
    fn independent_losses_are_of_the_proportion_and_independent() {
        let lost = run(LossSpec::Bernoulli { loss_ppb: 20_000_000 }, 500_000);
        // Five standard deviations: 5 * sqrt(0.02 * 0.98 / 500,000).
        assert!((proportion(&lost) - 0.02).abs() < 0.001, "{}", proportion(&lost));
        let after: Vec<bool> = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
        assert!((proportion(&after) - 0.02).abs() < 0.007, "{}", proportion(&after));
    }

    #[test]
    fn bursts_have_the_length_and_share_of_the_bad_state() {
        let (to_bad, to_good) = (0.01, 0.2);
        let lost = run(
            LossSpec::GilbertElliott {
                to_bad_ppb: 10_000_000,
                to_good_ppb: 200_000_000,
                good_loss_ppb: 0,
                bad_loss_ppb: 1_000_000_000,
            },
            1_000_000,
        );
        let share = to_bad / (to_bad + to_good);
        assert!((proportion(&lost) / share - 1.0).abs() < 0.05, "{}", proportion(&lost));
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        let length = lost.iter().filter(|&&lost| lost).count() as f64 / bursts as f64;
        assert!((length * to_good - 1.0).abs() < 0.05, "{length}");
    }

    #[test]
    fn a_policer_passes_its_depth_at_once_and_then_its_rate() {
        let mut random = Random::new(11, Draws::Link(0));
        let spec = LossSpec::Policer { loss_ppb: 0, rate_bps: 8_000_000, bytes: 10_000 };
        let mut process = LossProcess::new(spec).expect("a rate");
        // 8 Mb/s are a frame of 1,000 bytes a millisecond; ten come in each.
        let passed: Vec<usize> = (0..4)
            .map(|ms| (0..15).filter(|_| !process.loses(Nanos::from_millis(ms), 1000, &mut random)).count())
            .collect();
        assert_eq!(passed, [10, 1, 1, 1]);
        assert!(LossProcess::new(LossSpec::Policer { loss_ppb: 0, rate_bps: 0, bytes: 1 }).is_none());
    }

    #[test]
    fn a_proportion_above_the_whole_is_refused() {
        assert!(LossProcess::new(LossSpec::Bernoulli { loss_ppb: 1_000_000_001 }).is_none());
    }
}
