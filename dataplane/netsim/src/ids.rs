//! Numbers of nodes, links and flows.

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            pub fn index(self) -> usize {
                self.0 as usize
            }
        })+
    };
}

numbers!(
    /// A node, by its place in [`crate::spec::NetworkSpec::nodes`].
    NodeId,
    /// One direction of a link: twice the link's place in [`crate::spec::NetworkSpec::links`], plus one
    /// for the direction from `b` to `a`.
    LinkId,
    /// A flow, by its place in [`crate::spec::NetworkSpec::flows`].
    FlowId,
);

impl LinkId {
    pub(crate) fn reverse(self) -> LinkId {
        LinkId(self.0 ^ 1)
    }
}
