//! Checks that hold in every grove at any time, and a grove as text.

use super::*;

impl Grove {
    /// The grove as text, for the message of a failed check.
    pub fn show(&self) -> String {
        let mut text = String::new();
        for (host, f) in &self.nodes {
            let n = &f.node;
            text += &format!(
                "{host} ({}, {}) in {} at {:?} received {} failed {:?} parent {:?} order {} attached {} \
                 children {:?} keeps {:?} again {:?} joins {}\n",
                f.place,
                f.capacity,
                f.cluster,
                f.at,
                n.received(),
                n.failed(),
                n.parent(),
                f.order,
                f.attached,
                n.children().collect::<Vec<_>>(),
                n.keeps_for_departed(),
                f.again,
                f.joins,
            );
        }
        for w in &self.wires {
            text += &format!(
                "wire {:?} closing {:?} bytes {:?}\n",
                w.ends,
                w.closing,
                [w.bytes[0].len(), w.bytes[1].len()]
            );
        }
        for d in self.dispatchers.iter() {
            text += &format!("{} below {:?} ended {}\n", d.id, d.parent(), d.ended);
            for (host, m) in d.tree.iter() {
                text += &format!(
                    "    {host} {:?} {:?} order {} attached {} former {:?} behind {} suspect {} \
                     serves {}\n",
                    m.place,
                    m.outside,
                    m.order,
                    m.attached,
                    m.former,
                    m.behind,
                    m.suspect,
                    d.serves(host)
                );
            }
            for (c, b) in &d.below {
                text += &format!("    {c} head {} from {:?} behind {}\n", b.head.host, b.from, b.behind);
            }
        }
        text
    }

    /// Whether there is a cluster whose founder did not come, and may be dead.
    pub fn waits_for_founders(&self) -> bool {
        self.dispatchers.iter().any(|dispatcher| dispatcher.tree.is_empty() && !dispatcher.ended)
    }

    /// Lets enough time pass for silent hosts to be given up; live hosts send signs of life.
    pub fn outlast_patience(&mut self) {
        for _ in 0..6 {
            self.settle();
            self.pass(Nanos(self.policy.patience.0 / 3));
        }
        self.settle();
    }

    /// Nodes and dispatchers keep their bounds, and connections have no cycle.
    pub fn check(&self) {
        for (&host, found) in &self.nodes {
            let held = found.node.held();
            assert!(held <= self.config.capacity + self.config.window, "{host} holds {held}");
            let (mut at, mut seen) = (host, BTreeSet::new());
            while let Some(parent) = self.nodes.get(&at).and_then(|found| found.node.parent()) {
                assert!(seen.insert(at), "{host} is in a cycle");
                at = parent;
            }
        }
        for dispatcher in self.dispatchers.iter() {
            assert!(dispatcher.tree.len() <= self.policy.max_members);
            assert!(dispatcher.joining() <= self.policy.max_joins);
            assert!(dispatcher.below.len() <= 2 * self.policy.max_clusters);
        }
    }
}
