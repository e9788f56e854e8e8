//! Calls of functions that other modules export, without their source.
//!
//! The exports of a compiled module are types ([`TypedModule`], or a bundle). A call stores the signature
//! with the node. The solver checks the arguments against it and instantiates the symbols of the signature
//! for each call.

use std::collections::BTreeMap;

use typeloom_pool::{Idx, Pool, ReconstructError, TypedModule};
use typeloom_program::declared::DeclaredType;
use typeloom_program::domain::Domain;
use typeloom_solver::universe::{Universe, UniverseError};

use crate::authoring::AuthoringErrorKind;
use crate::graph::Graph;
use crate::graph::operators::record;
use crate::graph::outputs::Outputs;
use crate::graph::value::ValueRef;
use crate::location::SourceLocation;
use crate::names::{PARAMS, PARAMS_NAMES, RESULTS, RESULTS_NAMES};
use typeloom_interface::{Interface, NotAnInterface, Parameter};
use typeloom_onnx::messages::IntoAttribute;

/// The signatures of another module's exports, to be called with [`Graph::call_import`].
#[derive(Clone, Debug, Default)]
pub struct Imported {
    exports: BTreeMap<String, Result<Signature, NotAnInterface>>,
}

#[derive(Clone, Debug)]
struct Signature {
    params: Vec<Formal>,
    results: Vec<Formal>,
}

#[derive(Clone, Debug)]
struct Formal {
    name: String,
    ty: DeclaredType,
    optional: bool,
}

/// Error of exports that cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub enum ImportError {
    /// The descriptors are incomplete or malformed.
    Descriptors(#[from] ReconstructError),
    /// The bundle does not verify.
    Bundle(#[from] typeloom_pool::ImportError),
    /// The registered types are no tree.
    Universe(#[from] UniverseError),
}

impl Imported {
    /// Reads the exports of a module from its descriptors.
    ///
    /// # Errors
    /// [`ImportError`] if the descriptors are incomplete or malformed.
    pub fn new(module: &TypedModule) -> Result<Self, ImportError> {
        let mut pool = Pool::new();
        let exports = module.import(&mut pool)?;
        Self::of(&pool, exports)
    }

    /// Reads the exports of a module from a bundle.
    ///
    /// # Errors
    /// [`ImportError`] if the bundle does not verify.
    pub fn from_bundle(bytes: &[u8]) -> Result<Self, ImportError> {
        let mut pool = Pool::new();
        let roots = pool.import(bytes)?;
        Self::of(&pool, roots.into_iter().map(|root| (root.label, root.ty)).collect())
    }

    fn of(pool: &Pool, exports: BTreeMap<String, Idx>) -> Result<Self, ImportError> {
        let universe = Universe::try_standard().map_err(Clone::clone)?;
        let signature = |ty: Idx| -> Result<Signature, NotAnInterface> {
            let interface = Interface::from_pool(pool, ty, universe)?;
            let formals = |list: &[Parameter]| {
                let formal = |parameter: &Parameter| Formal {
                    name: parameter.name.clone(),
                    ty: DeclaredType::from(&interface.value_type(&parameter.ty)),
                    optional: parameter.optional,
                };
                list.iter().map(formal).collect()
            };
            Ok(Signature { params: formals(&interface.inputs), results: formals(&interface.outputs) })
        };
        Ok(Self { exports: exports.into_iter().map(|(name, ty)| (name, signature(ty))).collect() })
    }

    /// Names of the functions that can be called.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.exports.iter().filter(|(_, signature)| signature.is_ok()).map(|(name, _)| name.as_str())
    }
}

impl Graph {
    /// Calls a function that another module exports. Trailing inputs with defaults can be omitted.
    #[track_caller]
    pub fn call_import(&self, module: &Imported, name: &str, inputs: &[&ValueRef]) -> Outputs {
        let location = SourceLocation::here();
        let failed = |outputs| self.failed_call(name, inputs, outputs, location);
        let signature = match module.exports.get(name) {
            Some(Ok(signature)) => signature,
            Some(Err(reason)) => {
                let (name, reason) = (name.to_owned(), reason.clone());
                self.recorder.borrow_mut().error(AuthoringErrorKind::NotCallable { name, reason }, location);
                return failed(Vec::new());
            }
            None => {
                let known = module.functions().collect::<Vec<_>>().join(", ");
                let name = name.to_owned();
                self.recorder.borrow_mut().error(AuthoringErrorKind::UnknownExport { name, known }, location);
                return failed(Vec::new());
            }
        };
        let Signature { params, results } = signature;
        let names_of =
            |formals: &[Formal]| formals.iter().map(|formal| formal.name.clone()).collect::<Vec<_>>();
        let missing = params.get(inputs.len()..).is_none_or(|rest| rest.iter().any(|param| !param.optional));
        if missing {
            let names = params.iter().map(|param| param.name.as_str()).collect::<Vec<_>>().join(", ");
            let kind = AuthoringErrorKind::CallArity {
                module: name.to_owned(),
                inputs: params.len(),
                names,
                given: inputs.len(),
            };
            self.recorder.borrow_mut().error(kind, location);
            return failed(names_of(results));
        }
        let types = |name: &str, formals: &[Formal]| {
            DeclaredType::attribute(name, formals.iter().map(|formal| formal.ty.clone()))
        };
        let attributes = vec![
            name.into_attribute("function"),
            types(PARAMS, &params[..inputs.len()]),
            types(RESULTS, results),
            names_of(&params[..inputs.len()]).into_attribute(PARAMS_NAMES),
            names_of(results).into_attribute(RESULTS_NAMES),
        ];
        let op = (Domain::Import, "Call");
        let values = record(self, None, op, &[inputs.into()], attributes, results.len(), location);
        Outputs::new(name, names_of(results), values, self.poison(location))
    }
}
