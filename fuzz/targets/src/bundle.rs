//! Bundles of types, as bytes and as JSON.

use typeloom_interface::Interface;
use typeloom_pool::{Bundle, ImportLimits, Pool};
use typeloom_term::{Boxed, Symbols};

/// Imports the bytes as a bundle, creates terms of its types, converts it to JSON and back, and reads the
/// bytes as JSON.
///
/// # Panics
/// If an imported bundle changes when it is exported again or converted to JSON and back.
pub fn bundle(bytes: &[u8]) {
    let limits = ImportLimits { bytes: 1 << 20, types: 1 << 16, work: 1 << 22, ..ImportLimits::default() };
    let mut pool = Pool::new();
    if let Ok(roots) = pool.import_within(bytes, &limits) {
        for root in &roots {
            let _ = pool.signature(root.ty);
            let _ = pool.tree(root.ty);
            let mut symbols = Symbols::new();
            if let Ok(term) = pool.term(&Boxed::new(), &mut symbols, root.ty) {
                let _ = pool.intern_term(&Boxed::new(), &symbols, &term);
            }
        }
        let named: Vec<_> =
            roots.iter().map(|root| (root.label.as_str(), root.ty, root.names.as_slice())).collect();
        let again = pool.export_named(&named).expect("imported roots can be exported");
        assert_eq!(again.as_bytes(), bytes, "a bundle is canonical");
        for root in &roots {
            let universe = typeloom_solver::universe::Universe::standard();
            let _ = Interface::from_pool_named(&pool, root.ty, &root.names, universe);
        }
    }
    if let Ok(json) = Bundle::from_bytes(bytes.to_vec()).to_json() {
        let again = Bundle::from_json(&json, &ImportLimits::default()).expect("a bundle's JSON is a bundle");
        assert_eq!(again.to_json().as_deref(), Ok(json.as_str()), "JSON is stable");
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(bundle) = Bundle::from_json(text, &limits)
    {
        let _ = Pool::new().import_within(bundle.as_bytes(), &limits);
    }
}
