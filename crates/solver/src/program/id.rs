//! Ids of the parts of a body, and the kinds of declarations.

/// Defines the id of an item in a table: a position in 32 bits, with a niche for `Option`.
#[doc(hidden)]
#[macro_export]
macro_rules! table_id {
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

pub(crate) use table_id as id;

id!(
    /// A value of a body.
    ValueId
);
id!(
    /// A step of a body.
    StepId
);
id!(
    /// A graph of a body; number 0 is the outermost.
    GraphId
);
id!(
    /// A name of a body.
    NameId
);
id!(
    /// A declared type of a body.
    DeclarationId
);
id!(
    /// An initializer of a body.
    InitializerId
);
id!(
    /// An operator: a domain and name under one set of operator set imports.
    OpId
);

/// The lists of declarations in a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeclarationKind {
    /// Graph inputs.
    Input,
    /// Graph outputs.
    Output,
    /// `value_info`.
    Value,
}
