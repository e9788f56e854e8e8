//! The two versions of the compared crate, with a module for each kind of change.

macro_rules! version {
    ($folder:literal) => {
        concat!(
            "pub mod breaks {",
            include_str!(concat!($folder, "/breaks.rs")),
            "}\npub mod harmless {",
            include_str!(concat!($folder, "/harmless.rs")),
            "}\npub mod same {",
            include_str!(concat!($folder, "/same.rs")),
            "}\n"
        )
    };
}

/// The old version.
pub(crate) const OLD: &str = version!("old");

/// The new version.
pub(crate) const NEW: &str = version!("new");
