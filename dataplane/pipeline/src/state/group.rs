//! The actions among which the entries of a selector table choose.

use crate::port::Port;
use crate::program::entry::ActionCall;

/// The most actions of all groups of a program.
pub(crate) const ACTION_LIMIT: usize = 1 << 20;

/// An action of a group, its weight, and the port that it watches: it is left out while that port is down.
pub type Weighted = (ActionCall, u32, Option<Port>);

/// Actions with their weights. The order of choices is BMv2's: each action once, and then the others that the
/// weights add, action by action. It is counted, not written out: weights cost no memory.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    weighted: Vec<Weighted>,
    /// The actions that are not left out, and the choices that the weights up to each add.
    live: Vec<(u32, u64)>,
}

impl Group {
    /// A group, of at most [`ACTION_LIMIT`] actions, and the ports that are down.
    pub fn new(weighted: Vec<Weighted>, down: &[Port]) -> Group {
        let mut group = Group { weighted, live: Vec::new() };
        group.weigh(down);
        group
    }

    /// Leaves out the actions whose ports are down.
    pub fn weigh(&mut self, down: &[Port]) {
        let up = |port: &Option<Port>| port.map_or(true, |port| !down.contains(&port));
        let live = (0..).zip(&self.weighted).filter(|(_, (_, _, port))| up(port));
        self.live = live
            .scan(0, |added, (index, (_, weight, _))| {
                *added += u64::from(weight.saturating_sub(1));
                Some((index, *added))
            })
            .collect();
    }

    /// Whether an action depends on this port.
    pub fn watches(&self, port: Port) -> bool {
        self.weighted.iter().any(|(_, _, watched)| *watched == Some(port))
    }

    pub fn len(&self) -> usize {
        self.weighted.len()
    }

    /// The actions that are not left out.
    pub fn members(&self) -> impl Iterator<Item = &ActionCall> {
        self.live.iter().map(|(index, _)| &self.weighted[*index as usize].0)
    }

    /// The choice of a hash; a group without actions has none.
    pub fn choose(&self, hash: u64) -> Option<&ActionCall> {
        let once = self.live.len() as u64;
        let choice = hash % (once + self.live.last()?.1);
        let place = match choice.checked_sub(once) {
            None => choice as usize,
            Some(choice) => self.live.partition_point(|(_, added)| *added <= choice),
        };
        let (index, _) = self.live.get(place)?;
        self.weighted.get(*index as usize).map(|(call, ..)| call)
    }
}

#[cfg(test)]
#[path = "tests/group.rs"]
mod tests;
