//! Transformations of a checked model: annotations, interfaces, repairs.

use typeloom_interface::Interface;
use typeloom_interface::bundle::{Exported, export_interfaces, import_interfaces};
use typeloom_interface::{PortIdentity, compare};
use typeloom_ops::described::Operators;
use typeloom_pool::compat::Direction;
use typeloom_rewrite::annotate::{AnnotationForm, annotate, strip};
use typeloom_rewrite::coerce::{Policy, repair};
use typeloom_solver::model::{Mode, Options};
use typeloom_solver::universe::Universe;

use crate::contract::write_all;

/// Maximum input length for the comparison of annotations; it needs too much memory for longer inputs.
const MAX_LENGTH: usize = 1 << 20;

/// Annotates and strips the bytes, writes contracts for serving, converts the interface to a bundle and back,
/// and repairs the element types.
///
/// # Panics
/// If the interface changes in the bundle, a repaired model does not check, or the repair changes a model
/// without errors.
pub fn transform(bytes: &[u8]) {
    let _ = strip(bytes);
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    let Ok(mut checked) = typeloom_ops::check::check(bytes, &options) else { return };
    if let Ok(annotated) = annotate(&mut checked, AnnotationForm::Tagged)
        && annotated.file.byte_len() <= MAX_LENGTH
    {
        let _ = strip(&annotated.file.to_vec());
    }
    let interface = Interface::of_checked(&mut checked);
    write_all(&interface, None);
    let fits = compare(&interface, &interface, Direction::Full, PortIdentity::Name).is_compatible();
    if let Ok(exported) = Exported::new("main", interface) {
        assert!(fits, "an interface that has an identity fits itself");
        let digest = exported.digest;
        let bundle = export_interfaces(&[exported]).expect("an interface with a digest can be exported");
        let back = import_interfaces(bundle.as_bytes()).expect("an exported interface can be imported");
        assert_eq!(back[0].digest, digest);
    }
    let Ok(repair) = repair(bytes, &Operators::standard(), Universe::standard(), &options, Policy::Widest)
    else {
        return;
    };
    // Repairs also fix warnings about exporter output, such as placeholder dims.
    if checked.is_ok() && checked.errors().is_empty() {
        assert!(repair.file.is_none(), "a model without problems is left as it is");
    }
    if let Some(file) = repair.file.filter(|_| repair.is_ok) {
        let ok = typeloom_ops::check::check(&file, &options).is_ok_and(|checked| checked.is_ok());
        assert!(ok, "a repaired model checks");
    }
}
