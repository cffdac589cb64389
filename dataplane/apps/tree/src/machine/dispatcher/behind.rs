//! Who needs what those around it do not have any more. A host keeps what those below it need, and no host takes one that needs
//! what those above may have let go of: so who finds none that has what comes next is sent up, in the end to the source.
//!
//! | who | goes to |
//! |---|---|
//! | a host | the head of its cluster |
//! | whom that does not have it for | it becomes the head, and the one before goes below it; who serves nobody becomes a cluster |
//! | a head | the head of the cluster above |
//! | whom that does not have it for | its cluster goes below the next one above |
//! | whom the source does not have it for | it is told ([`ToHost::Gone`]) |

use super::*;

impl Dispatcher {
    pub(super) fn set_behind(&mut self, host: HostId, behind: bool) {
        if let Some(member) = self.tree.get_mut(host) {
            member.behind = behind;
        }
    }

    /// What the head came to last does not have what comes next for it, or could not be reached.
    pub(super) fn note_tried(&mut self, gone: bool) {
        self.tried = match self.above {
            Above::Attached(.., ticket) if gone => Some(ticket),
            _ => None,
        };
    }

    /// The cluster's head does not have what comes next for a host.
    pub(super) fn on_behind_head(&mut self, now: Nanos, host: HostId, head: HostId) {
        let serves = self.tree.get(host).is_some_and(|member| member.capacity > 0);
        match (self.parent(), serves) {
            (None, _) => {
                self.give_up(host);
                self.place_beside(now, host, Some(head));
            }
            (Some(_), true) => {
                self.tree.unplace(head);
                self.make_head(host);
                self.place(now, head);
            }
            (Some(parent), false) => self.set_apart(now, host, parent),
        }
    }

    /// Nobody has what comes next for this host.
    fn give_up(&mut self, host: HostId) {
        self.set_behind(host, false);
        self.tell(host, ToHost::Gone);
    }

    /// Who is to be connected to a host above, and cannot be the head of others, is the head of a cluster of its own.
    fn set_apart(&mut self, now: Nanos, host: HostId, parent: ClusterId) {
        let cluster = ClusterId(self.rng.next_u64());
        let founding = Founding { cluster, parent, root: self.root, founder: host, attach: None };
        self.out.push_back(Output::Found(founding));
        self.redirect(now, host, cluster);
    }

    /// Whether that ticket was for this cluster's head.
    pub(super) fn is_from_head(&self, cluster: ClusterId, ticket: Ticket) -> bool {
        let held = self.tree.held(cluster, ticket);
        held.is_some_and(|hold| self.tree.head() == Some(hold.parent))
    }

    /// This cluster's head does not have what comes next for the head of one below.
    pub(super) fn raise_cluster(&mut self, now: Nanos, cluster: ClusterId, tried: Ticket) {
        if self.parent().is_some() {
            return self.pass_up(cluster);
        }
        self.out.push_back(Output::Cluster(cluster, Between::Gone(tried)));
        if let Some(below) = self.below.get_mut(&cluster) {
            below.behind = false;
        }
        self.attach(now, cluster, None, true);
    }

    /// Nor does the source.
    pub(super) fn on_gone_above(&mut self, from: ClusterId, tried: Ticket) {
        if let Some(head) = self.tree.head().filter(|_| from == self.root && self.tried == Some(tried)) {
            self.tried = None;
            self.give_up(head);
        }
    }
}
