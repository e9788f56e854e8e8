//! The two names of ONNX's own operators.
//!
//! An operator belongs to a domain, and ONNX's own domain has two names: the empty one, and `ai.onnx`. A
//! model may import one of them and use the other in its nodes. This module is the only place that knows
//! both:
//!
//! ```
//! use typeloom_onnx::domain::{canonical, is_onnx, shown};
//!
//! // Lookups and comparisons use the canonical name.
//! assert_eq!(canonical("ai.onnx"), canonical(""));
//! // Messages use a name that can be read.
//! assert_eq!(shown(""), "ai.onnx");
//! assert!(is_onnx("ai.onnx") && !is_onnx("ai.onnx.ml"));
//! ```

/// The long name of ONNX's own domain.
pub const LONG_NAME: &str = "ai.onnx";

/// The name of a domain for lookups and comparisons: the empty one for ONNX's own domain.
#[must_use]
pub fn canonical(domain: &str) -> &str {
    if domain == LONG_NAME { "" } else { domain }
}

/// The name of a domain for messages: the long one for ONNX's own domain.
#[must_use]
pub fn shown(domain: &str) -> &str {
    if domain.is_empty() { LONG_NAME } else { domain }
}

/// Whether a domain is ONNX's own, by either name.
#[must_use]
pub fn is_onnx(domain: &str) -> bool {
    canonical(domain).is_empty()
}

/// The name of an operator for messages: `Relu` for one of ONNX, `my.domain.Relu` for another.
#[must_use]
pub fn qualified(domain: &str, op: &str) -> String {
    if is_onnx(domain) { op.to_owned() } else { format!("{domain}.{op}") }
}
