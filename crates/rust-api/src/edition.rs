//! The edition that a crate is written in, as far as its types depend on it.

/// An edition of Rust. rustdoc's JSON does not name it: the same source gives the same bytes in all of them.
///
/// What a type means depends on it in one place: `impl Trait` without `use<..>`, in the result of a function that is not
/// a trait's, may borrow from every lifetime in scope since 2024, and only from those that its bounds mention before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Edition {
    /// Rust 2015.
    E2015,
    /// Rust 2018.
    E2018,
    /// Rust 2021.
    E2021,
    /// Rust 2024: what `cargo new` writes since Rust 1.85.
    #[default]
    E2024,
}

impl Edition {
    /// Whether `impl Trait` in the result of a function captures lifetimes that it does not mention.
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
    /// That of the version before.
    pub old: Edition,
    /// That of the version after.
    pub new: Edition,
}

impl From<Edition> for Editions {
    fn from(both: Edition) -> Self {
        Self { old: both, new: both }
    }
}
