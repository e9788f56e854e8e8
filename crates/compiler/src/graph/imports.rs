//! Functions that other modules export, called without their source.
//!
//! What a compiled module exports travels as types ([`TypedModule`], or a bundle). A call records the signature with
//! the node; the solver holds the arguments to it and gives the results their types, with the symbols of the signature
//! standing for what they are at this call.

use std::collections::BTreeMap;

use typeloom_onnx::messages::TypeProto;
use typeloom_pool::{Idx, Pool, TypedModule};
use typeloom_solver::value_type::ValueType;

use super::Graph;
use super::attributes::IntoAttribute;
use super::operators::record;
use super::value::Value;
use crate::authoring::AuthoringErrorKind;
use crate::names::{IMPORT_DOMAIN, PARAMS, RESULTS};
use crate::place::Place;
use crate::solve_program;
use typeloom_interface::{Interface, Parameter};

/// The signatures of another module's exports.
///
/// ```
/// use typeloom_compiler::compiler::Compiler;
/// use typeloom_compiler::graph::Graph;
/// use typeloom_compiler::graph::imports::Imported;
/// use typeloom_compiler::module::Module;
///
/// struct Scorer;
/// impl Module for Scorer {
///     fn name(&self) -> &str { "scorer" }
///     fn body(&self, g: &mut Graph) {
///         let query = g.input("query").of("float[N, 8]");
///         let weights = g.input("weights").of("float[8, M]");
///         g.output("scores", &query.matmul(&weights));
///     }
/// }
///
/// struct Caller(Imported);
/// impl Module for Caller {
///     fn name(&self) -> &str { "caller" }
///     fn body(&self, g: &mut Graph) {
///         let x = g.input("x").of("float[batch, 8]");
///         let w = g.input("w");
///         let scores = g.call_import(&self.0, "scorer", &[&x, &w]);
///         g.output("y", &scores[0]);
///     }
/// }
///
/// // What travels is the interface; the module that exports it is not needed.
/// let interface = Compiler::new().compile(Scorer)?.interface;
/// let imported = Imported::new(&interface)?;
/// let artifact = Compiler::new().compile(Caller(imported))?;
/// assert_eq!(artifact.type_of("w"), Some("tensor.f32"));
/// assert_eq!(artifact.type_of("y"), Some("tensor.f32"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Imported {
    exports: BTreeMap<String, Result<Signature, String>>,
}

#[derive(Clone, Debug)]
struct Signature {
    params: Vec<Formal>,
    results: Vec<Formal>,
}

#[derive(Clone, Debug)]
struct Formal {
    name: String,
    ty: TypeProto,
    optional: bool,
}

/// Why a module's exports cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ImportError {
    /// What is wrong.
    pub message: String,
}

impl Imported {
    /// The exports of a module, out of its descriptors.
    ///
    /// # Errors
    /// [`ImportError`] where the descriptors are incomplete or not well formed.
    pub fn new(module: &TypedModule) -> Result<Self, ImportError> {
        let mut pool = Pool::new();
        let exports = module.import(&mut pool).map_err(|error| ImportError { message: error.to_string() })?;
        Self::of(&pool, exports)
    }

    /// The exports of a module, out of a bundle.
    ///
    /// # Errors
    /// [`ImportError`] where the bundle does not verify.
    pub fn from_bundle(bytes: &[u8]) -> Result<Self, ImportError> {
        let mut pool = Pool::new();
        let roots = pool.import(bytes).map_err(|error| ImportError { message: error.to_string() })?;
        Self::of(&pool, roots.into_iter().map(|root| (root.label, root.ty)).collect())
    }

    fn of(pool: &Pool, exports: BTreeMap<String, Idx>) -> Result<Self, ImportError> {
        let universe = solve_program::universe().map_err(|error| ImportError { message: error.to_string() })?;
        let signature = |ty: Idx| -> Result<Signature, String> {
            let interface = Interface::from_pool(pool, ty, universe).map_err(|error| error.to_string())?;
            let formals = |list: &[Parameter]| {
                let formal = |parameter: &Parameter| Formal {
                    name: parameter.name.clone(),
                    ty: ValueType::of(&parameter.ty, &interface.universe, &interface.dims).to_message(),
                    optional: parameter.optional,
                };
                list.iter().map(formal).collect()
            };
            Ok(Signature { params: formals(&interface.inputs), results: formals(&interface.outputs) })
        };
        Ok(Self { exports: exports.into_iter().map(|(name, ty)| (name, signature(ty))).collect() })
    }

    /// The names of what can be called.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.exports.iter().filter(|(_, signature)| signature.is_ok()).map(|(name, _)| name.as_str())
    }
}

impl Graph {
    /// Calls a function that another module exports. Inputs that it has defaults for may be left out at the end.
    #[track_caller]
    pub fn call_import(&self, module: &Imported, name: &str, inputs: &[&Value]) -> Vec<Value> {
        let place = Place::here();
        let signature = match module.exports.get(name) {
            Some(Ok(signature)) => signature,
            Some(Err(message)) => {
                let (name, message) = (name.to_owned(), message.clone());
                self.recorder.borrow_mut().error(AuthoringErrorKind::NotCallable { name, message }, place);
                return Vec::new();
            }
            None => {
                let known = module.functions().collect::<Vec<_>>().join(", ");
                let name = name.to_owned();
                self.recorder.borrow_mut().error(AuthoringErrorKind::UnknownExport { name, known }, place);
                return Vec::new();
            }
        };
        let Signature { params, results } = signature;
        let missing = params.get(inputs.len()..).is_none_or(|rest| rest.iter().any(|param| !param.optional));
        if missing {
            let names = params.iter().map(|param| param.name.as_str()).collect::<Vec<_>>().join(", ");
            let kind = AuthoringErrorKind::CallArity {
                module: name.to_owned(),
                inputs: params.len(),
                names,
                given: inputs.len(),
            };
            self.recorder.borrow_mut().error(kind, place);
            return results.iter().map(|_| self.poison(place)).collect();
        }
        let types = |formals: &[Formal]| formals.iter().map(|formal| formal.ty.clone()).collect::<Vec<_>>();
        let attributes = vec![
            name.into_attribute("function"),
            types(&params[..inputs.len()]).into_attribute(PARAMS),
            types(results).into_attribute(RESULTS),
        ];
        record(self, None, (IMPORT_DOMAIN, "Call"), &[inputs.into()], attributes, results.len(), place)
    }
}
