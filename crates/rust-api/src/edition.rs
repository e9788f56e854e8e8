//! The edition of a crate, as far as its types depend on it.

/// An edition of Rust. The JSON does not contain it: the same source yields the same bytes in all editions.
///
/// One rule depends on it. `impl Trait` without `use<..>`, in the result of a function outside of traits,
/// captures every lifetime in scope since edition 2024, and before only those that its bounds mention.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Edition {
    /// Rust 2015.
    E2015,
    /// Rust 2018.
    E2018,
    /// Rust 2021.
    E2021,
    /// Rust 2024, the default of `cargo new` since Rust 1.85.
    #[default]
    E2024,
}

impl Edition {
    /// Whether `impl Trait` in the result of a function captures lifetimes that its bounds do not mention.
    pub(crate) fn captures_all(self) -> bool {
        match self {
            Self::E2015 | Self::E2018 | Self::E2021 => false,
            Self::E2024 => true,
        }
    }
}

/// The editions of two versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Editions {
    /// Edition of the old version.
    pub old: Edition,
    /// Edition of the new version.
    pub new: Edition,
}

impl From<Edition> for Editions {
    fn from(both: Edition) -> Self {
        Self { old: both, new: both }
    }
}
