//! Hosts that need bytes which the hosts around them no longer have. A host keeps the bytes that hosts below
//! it need, and never takes a child that needs bytes which hosts above may have freed. So a host that finds
//! no parent with its next bytes is sent up, in the end to the source.
//!
//! | host | goes to |
//! |---|---|
//! | any host | the head of its cluster |
//! | a host for which the head lacks the bytes | becomes the head; without children, founds a cluster |
//! | a head | the head of the cluster above |
//! | a head for which that head lacks the bytes | its cluster goes below the next cluster above |
//! | a host for which the source lacks the bytes | is told so ([`ToHost::Gone`]) |

use super::*;

impl DispatcherMut<'_> {
    pub(super) fn set_behind(&mut self, host: HostId, behind: bool) {
        if let Some(member) = self.tree.get_mut(host) {
            member.behind = behind;
        }
    }

    /// Notes that the parent which the head tried last lacks the head's next bytes, or could not be reached.
    pub(super) fn note_tried(&mut self, gone: bool) {
        self.tried_above = self.attached_to().filter(|_| gone);
    }

    /// Handles a host for which the cluster's head lacks the next bytes.
    pub(super) fn on_behind_head(&mut self, host: HostId, head: HostId) {
        let serves = self.tree.get(host).is_some_and(|member| member.capacity > 0);
        match (self.parent(), serves) {
            (None, _) => {
                self.give_up(host);
                self.place_beside(host, Some(head));
            }
            (Some(_), true) => {
                self.tree.unplace(head);
                self.make_head(host);
                self.place(head);
                self.ask_above();
            }
            (Some(parent), false) => self.set_apart(host, parent),
        }
    }

    /// Tells a host that no host has its next bytes.
    fn give_up(&mut self, host: HostId) {
        self.set_behind(host, false);
        self.notify(host, ToHost::Gone);
    }

    /// Gives a host that must be connected to a host above, but cannot be the head of others, a cluster of
    /// its own.
    fn set_apart(&mut self, host: HostId, parent: ClusterId) {
        let Some(peer) = self.tree.get(host).map(|member| member.peer) else { return };
        let cluster = ClusterId(self.rng.next_u64());
        let below = Below::found_again(peer, self.policy.threshold, true);
        self.all.found(cluster, parent, host);
        if let Some(mut above) = self.all.change(parent) {
            above.on_adopt(cluster, below, true);
        }
        self.redirect(host, cluster);
    }

    /// Handles a cluster below for whose head this cluster's head lacks the next bytes.
    pub(super) fn raise_cluster(&mut self, cluster: ClusterId) {
        if self.parent().is_some() {
            return self.pass_up(cluster);
        }
        if let Some(mut lower) = self.all.change(cluster) {
            lower.give_up_head();
        }
        if let Some(below) = self.below.get_mut(&cluster) {
            below.behind = false;
        }
        self.attach(cluster, None, true);
    }

    /// The source lacks the head's next bytes, too.
    fn give_up_head(&mut self) {
        self.tried_above = None;
        if let Some(head) = self.tree.head() {
            self.give_up(head);
        }
    }
}
