//! The two versions of the crate that is compared: a module for each kind of change.

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

/// The version before.
pub(crate) const OLD: &str = version!("old");

/// The version after.
pub(crate) const NEW: &str = version!("new");
