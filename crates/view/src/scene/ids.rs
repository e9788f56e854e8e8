//! Ids of the parts of a scene.

/// Defines the id of an item in a table: a position in 32 bits, with a niche for `Option`.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(std::num::NonZeroU32);

        impl $name {
            /// The id of the item at position `index`.
            #[must_use]
            pub fn new(index: usize) -> Self {
                let number = u32::try_from(index + 1).ok().and_then(std::num::NonZeroU32::new);
                Self(number.expect("a table has fewer than 2^32 items"))
            }

            /// The position of the item.
            #[inline]
            #[must_use]
            pub fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }
    };
}

id!(
    /// A node of a scene.
    NodeId
);
id!(
    /// A value of a scene.
    ValueId
);
id!(
    /// A group of a scene.
    GroupId
);
id!(
    /// An operator of a scene.
    OperatorId
);
id!(
    /// A type of a scene.
    TypeId
);
id!(
    /// A diagnostic of a scene.
    MarkId
);
