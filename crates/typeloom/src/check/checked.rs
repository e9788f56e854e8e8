//! A checked model.
//!
//! [`Checked`] is the result of [`check`](super::check()) and the entrance to everything that needs the types
//! of a model:
//!
//! ```text
//! values, value       y: float[N]                          owned, without a borrow of the check
//! diagnostics         error[element-type-mismatch]: ...    with fixes that were tried
//! apply_fix, repair   a new file
//! specialize          a new file for given sizes
//! annotated           the same file with its proven types
//! explain             the chain of causes of a type
//! ```
//!
//! It combines the result of the solver with the rewrites of `typeloom-rewrite`. The solver derives types
//! from bytes, operators and options. A rewrite changes the bytes and checks them again, so [`Checked`] keeps
//! all three.
//!
//! **Invariant:** a second check, for a fix or a repair, uses the operators and the options of the first one.
//! Otherwise a repair could be valid only for other operators.
//!
//! **Invariant:** a [`TypedValue`] has its own copies of names and types, so it can outlive the model.
//!
//! **Cost:** [`Checked::values`] is linear in the model. [`Checked::diagnostics`] checks the model again for
//! its fixes, if it has any; [`Checked::is_ok`] does not.
//!
//! **Limits:** element types are those of the standard universe. Values inside functions and values without a
//! name are not listed.

use std::fmt;

#[cfg(feature = "interfaces")]
use typeloom_interface::Interface;
use typeloom_rewrite::advise;
use typeloom_rewrite::annotate::{AnnotateError, AnnotationForm, annotate};
use typeloom_rewrite::coerce::{self, Policy, Repair, RepairError};
use typeloom_rewrite::convert::{self, ConvertError, Converted, Request};
use typeloom_rewrite::specialize::{SpecializeError, Specialized, specialize};
use typeloom_solver::diagnostic::{Diagnostic, Explanation, explain_value};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::{self, CheckError, Coverage, Options};
use typeloom_solver::program::{Origin as ProgramOrigin, ValueId};
use typeloom_solver::solution::convert::Converter;
use typeloom_solver::universe::Universe;
use typeloom_tensor::value_type::ValueType;
use typeloom_types::dtype::Dtype;

use super::Operators;

/// A model with the types of all its values.
///
/// Queries take `&mut self`, because types are resolved on demand.
pub struct Checked<'a> {
    solved: model::Checked<'a>,
    bytes: &'a [u8],
    operators: &'a Operators,
    options: Options,
}

/// A value of a model with its solved type. `Display` prints `name: type` and honours the width of the
/// format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypedValue {
    name: String,
    ty: ValueType,
    text: String,
    origin: Origin,
    is_assumed: bool,
}

/// The source of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// An input of a graph.
    Input,
    /// A constant stored in the model.
    Initializer,
    /// An output of a node.
    Node {
        /// The operator.
        operator: String,
        /// The name of the node; may be empty.
        name: String,
    },
    /// Nothing defines the value.
    Undefined,
}

impl<'a> Checked<'a> {
    pub(super) fn new(
        bytes: &'a [u8],
        options: &Options,
        operators: &'a Operators,
    ) -> Result<Self, CheckError> {
        let solved = model::check(bytes, operators, Universe::standard(), options)?;
        Ok(Self { solved, bytes, operators, options: options.clone() })
    }

    /// Whether the model has no errors. Warnings do not count.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.solved.is_ok()
    }

    /// All values: those of the main graph in graph order, then those of nested graphs.
    pub fn values(&mut self) -> Vec<TypedValue> {
        let values: Vec<ValueId> = self.solved.body().values().collect();
        let mut converter = Converter::default();
        values.into_iter().filter_map(|value| self.typed(value, &mut converter)).collect()
    }

    /// The value with a name in the main graph, or else in the first nested graph that has one.
    pub fn value(&mut self, name: &str) -> Option<TypedValue> {
        let value = self.solved.find(name)?;
        self.typed(value, &mut Converter::default())
    }

    /// All problems, in graph order, one per cause. A fix in a diagnostic has been tested: it removes the
    /// diagnostic and adds no other.
    pub fn diagnostics(&mut self) -> Vec<Diagnostic> {
        advise::advised(self.bytes, &mut self.solved, self.operators, Universe::standard(), &self.options)
    }

    /// The model with the fix of one diagnostic; `None` if the diagnostic has no fix.
    #[must_use]
    pub fn apply_fix(&self, diagnostic: &Diagnostic) -> Option<Vec<u8>> {
        let settings: (&dyn typeloom_solver::catalogue::Catalogue, _, _) =
            (self.operators, Universe::standard(), &self.options);
        advise::applied(self.bytes, diagnostic, diagnostic.fix.as_ref()?, settings)
    }

    /// The number of values that are fully typed, assumed or unknown.
    ///
    /// ```
    /// use typeloom::check::{Options, check};
    ///
    /// let model = typeloom::onnx::model_from_text(
    ///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = NonZero(x) }"#,
    /// )?;
    /// let coverage = check(&model, &Options::default())?.coverage();
    /// assert_eq!((coverage.values, coverage.typed, coverage.unknown_extents), (2, 1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn coverage(&mut self) -> Coverage {
        self.solved.coverage()
    }

    /// Inserts the fewest casts that make the model type-check under a policy, sorts its nodes, and corrects
    /// false declared shapes. Repairs that can change results are not applied, see [`Repair::withheld`].
    ///
    /// ```
    /// use typeloom::check::{Options, Policy, check};
    ///
    /// let model = typeloom::onnx::model_from_text(
    ///     r#"<ir_version: 10, opset_import: ["" : 21]>
    ///     g (float[2] x, double[2] w) => (y) { y = Mul(x, w) }"#,
    /// )?;
    /// let repair = check(&model, &Options::default())?.repair(Policy::Lossless)?;
    /// assert!(repair.is_ok && repair.casts.len() == 1 && repair.file.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the changes cannot be written. [`Repair::is_ok`] states whether all errors were resolved.
    pub fn repair(&self, policy: Policy) -> Result<Repair, RepairError> {
        coerce::repair(self.bytes, self.operators, Universe::standard(), &self.options, policy)
    }

    /// A model for the sizes that the check [assumes](Options::assume): symbols become numbers, decided branches
    /// are taken, and what is constant then is removed.
    ///
    /// ```
    /// use typeloom::check::{Options, check};
    ///
    /// let model = typeloom::onnx::model_from_text(
    ///     r#"<ir_version: 10, opset_import: ["" : 21]>
    ///     g (float[N, 4] x, float[4, N] z) => (y) { s = Shape(x)  y = Reshape(z, s) }"#,
    /// )?;
    /// let options = Options { assume: vec![("N".into(), "3".into())], ..Options::default() };
    /// let small = check(&model, &options)?.specialize()?;
    /// assert_eq!((small.constants, small.nodes), (1, [2, 1]));
    /// assert_eq!(check(&small.file, &Options::default())?.value("y").unwrap().to_string(), "y: float[3, 4]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the model has errors for these sizes, or the changes cannot be written.
    pub fn specialize(&self) -> Result<Specialized, SpecializeError> {
        specialize(self.bytes, self.operators, Universe::standard(), &self.options, None)
    }

    /// Converts the floating-point values into `float16`, `bfloat16` or `float`, with the fewest casts. `keep`
    /// names operators, nodes and values that keep their types, or patterns of names.
    ///
    /// ```
    /// use typeloom::check::{Options, check};
    /// use typeloom::types::Dtype;
    ///
    /// let model = typeloom::onnx::model_from_text(
    ///     r#"<ir_version: 10, opset_import: ["" : 21]>
    ///     g (float[N] x) => (float[N] y) { h = Relu(x) y = Softmax(h) }"#,
    /// )?;
    /// let checked = check(&model, &Options::default())?;
    /// assert_eq!(checked.convert(Dtype::F16, &[])?.casts.len(), 0);
    /// assert_eq!(checked.convert(Dtype::F16, &["Softmax".to_owned()])?.casts.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the model has errors, or cannot be converted. Tensors in other files are not read.
    pub fn convert(&self, to: Dtype, keep: &[String]) -> Result<Converted, ConvertError> {
        let request = Request { to: Some(Elem::of(to)), keep, ..Request::default() };
        convert::convert(self.bytes, self.operators, Universe::standard(), &self.options, &request, None)
    }

    /// The conditions on symbols under which the model runs, such as `N <= 128`.
    #[must_use]
    pub fn preconditions(&self) -> Vec<String> {
        let dims = self.solved.dims();
        let show = |condition| dims.display_condition(condition).to_string();
        self.solved.preconditions().into_iter().map(show).collect()
    }

    /// The reasons for the type of a value. Needs [`Options::trace`].
    ///
    /// ```
    /// use typeloom::check::{Options, check};
    ///
    /// let model = typeloom::onnx::model_from_text(
    ///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { h = Abs(x)  y = Relu(h) }"#,
    /// )?;
    /// let mut checked = check(&model, &Options { trace: true, ..Options::default() })?;
    /// let explanation = checked.explain("y").expect("the model has this value");
    /// assert_eq!(explanation.ty, "float[N]");
    /// for reason in &explanation.reasons {
    ///     println!("{}", reason.text);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&mut self, name: &str) -> Option<Explanation> {
        explain_value(&mut self.solved, name)
    }

    /// The model with the proven types of all values written into it, all other bytes unchanged.
    ///
    /// # Errors
    /// If the file is malformed in a part that the check does not read.
    pub fn annotated(&mut self) -> Result<Vec<u8>, AnnotateError> {
        Ok(annotate(&mut self.solved, AnnotationForm::Tagged)?.file.to_vec())
    }

    /// The inputs, outputs and conditions of the model.
    #[cfg(feature = "interfaces")]
    pub fn interface(&mut self) -> Interface {
        Interface::of_checked(&mut self.solved)
    }

    /// The solver's own result, for the crates of this repository.
    #[doc(hidden)]
    pub fn solved(&mut self) -> &mut model::Checked<'a> {
        &mut self.solved
    }

    /// The solver's own result with the types inside functions.
    #[cfg(feature = "targets")]
    pub(crate) fn solved_with_functions(&mut self) -> Result<&mut model::Checked<'a>, CheckError> {
        if !self.options.functions {
            let options = Options { functions: true, ..self.options.clone() };
            self.solved = model::check(self.bytes, self.operators, Universe::standard(), &options)?;
            self.options = options;
        }
        Ok(&mut self.solved)
    }

    fn typed(&mut self, value: ValueId, converter: &mut Converter) -> Option<TypedValue> {
        let body = self.solved.body();
        let name = body.value_name(value);
        if name.is_empty() {
            return None;
        }
        let origin = match body.value(value).origin {
            ProgramOrigin::Input | ProgramOrigin::InputWithDefault(_) => Origin::Input,
            ProgramOrigin::Initializer(_) => Origin::Initializer,
            ProgramOrigin::Step(step) => Origin::Node {
                operator: body.op_name(step).to_owned(),
                name: body.step(step).node.name().unwrap_or_default().to_owned(),
            },
            ProgramOrigin::Undefined => Origin::Undefined,
        };
        let name = name.to_owned();
        let (ty, text) = (self.solved.type_of(value), self.solved.display_type(value));
        let ty = converter.convert(&ty, self.solved.universe(), self.solved.dims());
        Some(TypedValue { name, ty, text, origin, is_assumed: self.solved.is_assumed(value) })
    }
}

impl fmt::Debug for Checked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checked").field("is_ok", &self.is_ok()).finish_non_exhaustive()
    }
}

impl TypedValue {
    /// The name in the model.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The solved type. Axes in which the branches of an `If` differ are unknown, and several possible
    /// element types are their common node; `Display` lists the alternatives.
    #[must_use]
    pub fn ty(&self) -> &ValueType {
        &self.ty
    }

    /// The source of the value.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Whether the type depends on a declared shape that could not be verified.
    #[must_use]
    pub fn is_assumed(&self) -> bool {
        self.is_assumed
    }
}

impl fmt::Display for TypedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}: {}", typeloom_onnx::text::escape(&self.name), self.text))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input => f.write_str("input"),
            Self::Initializer => f.write_str("initializer"),
            Self::Node { operator, name } if name.is_empty() => {
                write!(f, "{}", typeloom_onnx::text::escape(operator))
            }
            Self::Node { operator, name } => {
                write!(f, "{} `{}`", typeloom_onnx::text::escape(operator), typeloom_onnx::text::escape(name))
            }
            Self::Undefined => f.write_str("nothing"),
        }
    }
}
