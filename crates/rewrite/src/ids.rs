//! Positions in lists as distinct types.

/// Declares types of positions.
macro_rules! ids {
    ($( $(#[$meta:meta])* $id:ident )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub(crate) struct $id(usize);

        impl $id {
            pub(crate) const fn new(index: usize) -> Self {
                Self(index)
            }

            pub(crate) const fn index(self) -> usize {
                self.0
            }
        }
    )*};
}

pub(crate) use ids;
