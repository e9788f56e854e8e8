//! The seeds of random problems.

/// Seeds selected by `TYPELOOM_RUSTC_SEEDS`: a number of seeds from 0, or a range such as `1000..1060`; one
/// seed by default.
pub(crate) fn seeds() -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("TYPELOOM_RUSTC_SEEDS") else { return 0..1 };
    let (from, to) = text.split_once("..").unwrap_or(("0", &text));
    let number = |text: &str| text.parse().expect("TYPELOOM_RUSTC_SEEDS is a number or a range");
    number(from)..number(to)
}
