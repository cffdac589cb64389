//! The first of a fixed set of times: a tournament over them.

use crate::Nanos;

/// The times at which a fixed number of leaves are due, and the first of them. Of equal times the lowest leaf
/// wins, so the order is total. An update costs the logarithm of the number of leaves.
#[derive(Debug, Clone)]
pub struct MinTree {
    /// The root is at 1, the leaves are the second half.
    times: Vec<Nanos>,
    width: usize,
}

impl MinTree {
    /// `leaves` leaves, none of which is ever due.
    pub fn new(leaves: usize) -> MinTree {
        let width = leaves.next_power_of_two();
        MinTree { times: vec![Nanos::MAX; 2 * width], width }
    }

    /// Sets when a leaf is due; [`Nanos::MAX`] is never.
    #[inline]
    pub fn set(&mut self, leaf: usize, time: Nanos) {
        let mut at = self.width + leaf;
        if self.times[at] == time {
            return;
        }
        self.times[at] = time;
        let mut earlier = time;
        while at > 1 {
            earlier = earlier.min(self.times[at ^ 1]);
            at /= 2;
            if self.times[at] == earlier {
                return;
            }
            self.times[at] = earlier;
        }
    }

    pub fn get(&self, leaf: usize) -> Nanos {
        self.times[self.width + leaf]
    }

    /// When the first leaf is due.
    #[inline]
    pub fn time(&self) -> Nanos {
        self.times[1]
    }

    #[inline]
    pub fn first(&self) -> usize {
        let mut at = 1;
        while at < self.width {
            at *= 2;
            if self.times[at + 1] < self.times[at] {
                at += 1;
            }
        }
        at - self.width
    }
}
