//! Numbers that name things.

use serde::{Deserialize, Serialize};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

number!(
    /// A node, by its place in [`crate::spec::NetworkSpec::nodes`].
    NodeId
);
number!(
    /// One direction of a link: twice the link's place in [`crate::spec::NetworkSpec::links`], plus one
    /// for the direction from `b` to `a`.
    LinkId
);
number!(
    /// A flow, by its place in [`crate::spec::NetworkSpec::flows`].
    FlowId
);
