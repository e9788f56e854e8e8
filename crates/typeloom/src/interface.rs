//! Compare the interfaces of models, and transfer them to other processes.
//!
//! ```
//! use typeloom::interface::{Direction, Interface, PortIdentity, compare, export, import};
//!
//! let model = |text: &str| typeloom::onnx::model_from_text(&format!(r#"<ir_version: 10, opset_import: ["" : 21]> {text}"#));
//! let old = model("g (float[N, 3] x) => (y) { y = Relu(x) }")?;
//! let new = model("g (float[N, 4] x) => (y) { y = Relu(x) }")?;
//! let (old, new) = (interface_of(&old)?, interface_of(&new)?);
//!
//! let comparison = compare(&old, &new, Direction::Backward, PortIdentity::NameAndPosition);
//! for difference in &comparison.differences {
//!     println!("{difference:?}");
//! }
//! assert!(!comparison.is_compatible());
//!
//! let bundle = export(&[("scorer", &new)])?;
//! let imported = import(bundle.as_bytes())?;
//! assert_eq!(imported[0].label, "scorer");
//! # use typeloom::interface::interface_of;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The interface of a model is a type scheme: names of symbols do not affect its digest.

#[doc(inline)]
pub use typeloom_interface::bundle::{BundleError, Exported, import_interfaces as import};
#[doc(inline)]
pub use typeloom_interface::{
    Interface, InterfaceChange, InterfaceComparison, InterfaceDifference, Parameter, PortIdentity, compare,
};
use typeloom_pool::Bundle;
#[doc(inline)]
pub use typeloom_pool::compat::Direction;

use crate::check::{CheckError, Checked, Options};

/// Error of [`interface_of`].
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// The bytes are not a model.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The model has errors, so its interface is unknown.
    #[error("a model with errors has no interface")]
    HasErrors,
}

/// Checks a model with the default options and returns its interface.
///
/// ```
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }"#,
/// )?;
/// let interface = typeloom::interface::interface_of(&model)?;
/// assert_eq!(interface.symbols(), ["N"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`InterfaceError`].
pub fn interface_of(model: &[u8]) -> Result<Interface, InterfaceError> {
    let mut checked = crate::check::check(model, &Options::default())?;
    if checked.is_ok() { Ok(interface_of_checked(&mut checked)) } else { Err(InterfaceError::HasErrors) }
}

/// Returns the interface of a checked model.
pub fn interface_of_checked(checked: &mut Checked<'_>) -> Interface {
    Interface::of_checked(checked.solved())
}

/// Writes interfaces into a bundle, each with a label.
///
/// # Errors
/// [`BundleError`] if a type has no portable form.
pub fn export(interfaces: &[(&str, &Interface)]) -> Result<Bundle, BundleError> {
    let exported = interfaces.iter().map(|(label, interface)| Exported::new(label, (*interface).clone()));
    typeloom_interface::bundle::export_interfaces(&exported.collect::<Result<Vec<_>, _>>()?)
}
