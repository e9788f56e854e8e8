//! Comparison of two interfaces.
//!
//! *Backward* compatible: the new program can replace the old one for the callers of the old one. Inputs are
//! contravariant: the new program must accept all old inputs. Outputs are covariant: it must return only
//! outputs of the old types. *Forward*: the old program can replace the new one. *Full*: both.
//!
//! [`Matching`] decides each direction separately; a difference found in both directions is listed once.
//!
//! **Invariant:** two interfaces of one digest have no differences, and two without differences in either
//! direction are interchangeable for every caller.
//!
//! Example of [`compare`]:
//!
//! ```
//! use typeloom_interface::{Interface, PortIdentity, compare};
//! use typeloom_onnx::prost::Message;
//! use typeloom_onnx::text::parse_model;
//! use typeloom_pool::compat::Direction;
//!
//! let interface = |graph: &str| {
//!     let text = format!("<ir_version: 10, opset_import: [\"\" : 21]>\n{graph}");
//!     Interface::of(&parse_model(&text).expect("the text is a model").encode_to_vec())
//! };
//! let old = interface("g (float[3] x) => (float[3] y) { y = Relu(x) }")?;
//! let new = interface("g (float[N] x) => (float[N] y) { y = Relu(x) }")?;
//! assert!(compare(&old, &new, Direction::Backward, PortIdentity::Name).is_compatible());
//!
//! let comparison = compare(&old, &new, Direction::Forward, PortIdentity::Name);
//! assert!(!comparison.is_compatible());
//! let text = comparison.to_string();
//! assert_eq!(text.lines().next(), Some("inputs.x.shape[0]: extent-changed (3 to N)"));
//! # Ok::<(), typeloom_solver::model::CheckError>(())
//! ```

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use typeloom_dim::DimId;
use typeloom_pool::Pool;
use typeloom_pool::compat::{Breaks, Difference, Direction, PathStep, TypePath};
use typeloom_solver::elem::ElemSet;
use typeloom_solver::solution::{TensorType, Type};
use typeloom_tensor::value_type::Composite;

use crate::matching::Matching;
use crate::{Interface, Parameter};

/// Identity of inputs and outputs for callers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PortIdentity {
    /// Names and positions: some runtimes bind by name, some by position, so neither may change.
    #[default]
    NameAndPosition,
    /// Names alone.
    Name,
}

/// Defines the changes with their identifiers and the changes in the opposite direction.
macro_rules! changes {
    ($($(#[$doc:meta])* $change:ident $code:literal reversed $reversed:ident;)*) => {
        /// Change between two interfaces.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum InterfaceChange {
            $($(#[$doc])* $change,)*
        }

        impl InterfaceChange {
            /// The stable identifier in JSON, such as `input-added`.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self {
                    $(Self::$change => $code,)*
                }
            }

            /// The same change with the two sides exchanged.
            fn reversed(self) -> Self {
                match self {
                    $(Self::$change => Self::$reversed,)*
                }
            }
        }
    };
}

changes! {
    /// Only the new program has the input.
    InputAdded "input-added" reversed InputRemoved;
    /// Only the old program has the input.
    InputRemoved "input-removed" reversed InputAdded;
    /// The input becomes optional.
    DefaultAdded "default-added" reversed DefaultRemoved;
    /// The input becomes required.
    DefaultRemoved "default-removed" reversed DefaultAdded;
    /// The order of the inputs changes.
    InputOrder "input-order" reversed InputOrder;
    /// Only the new program has the output.
    OutputAdded "output-added" reversed OutputRemoved;
    /// Only the old program has the output.
    OutputRemoved "output-removed" reversed OutputAdded;
    /// The positions of the outputs change.
    OutputOrder "output-order" reversed OutputOrder;
    /// The kind of a type changes.
    Kind "type-changed" reversed Kind;
    /// The element type changes.
    Element "element-type-changed" reversed Element;
    /// The number of axes changes.
    Rank "rank-changed" reversed Rank;
    /// An extent changes, or a relation between extents.
    Extent "extent-changed" reversed Extent;
    /// Only the new program requires the condition.
    ConditionAdded "condition-added" reversed ConditionRemoved;
    /// Only the old program requires the condition.
    ConditionRemoved "condition-removed" reversed ConditionAdded;
}

impl fmt::Display for InterfaceChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// Difference between two interfaces, with the types, extents or orders of both sides as text.
pub type InterfaceDifference = Difference<InterfaceChange>;

/// Result of [`compare`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterfaceComparison {
    /// The direction that was compared.
    pub direction: Direction,
    /// Every difference in either direction, inputs first, in the order of the old interface and then of the
    /// new one.
    pub differences: Vec<InterfaceDifference>,
}

impl InterfaceComparison {
    /// Whether a difference breaks the compared direction.
    #[must_use]
    pub fn is_breaking(&self, difference: &InterfaceDifference) -> bool {
        self.direction.is_broken_by(difference.breaks)
    }

    /// Whether no difference breaks the compared direction.
    #[must_use]
    pub fn is_compatible(&self) -> bool {
        !self.differences.iter().any(|difference| self.is_breaking(difference))
    }
}

/// One line per difference: `inputs.x.shape[0]: extent-changed (3 to N)`.
impl fmt::Display for InterfaceComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Difference { path, change, old, new, breaks: _ } in &self.differences {
            writeln!(f, "{path}: {change} ({old} to {new})")?;
        }
        Ok(())
    }
}

/// Compares two interfaces.
#[must_use]
pub fn compare(
    old: &Interface,
    new: &Interface,
    direction: Direction,
    identity: PortIdentity,
) -> InterfaceComparison {
    if are_equal(old, new) {
        return InterfaceComparison { direction, differences: Vec::new() };
    }
    let mut differences = mismatches(new, old, identity);
    let mut known: HashMap<(TypePath, InterfaceChange), usize> = HashMap::new();
    for (at, difference) in differences.iter().enumerate() {
        known.entry((difference.path.clone(), difference.change)).or_insert(at);
    }
    for Difference { path, change, old: new, new: old, breaks } in mismatches(old, new, identity) {
        let change = change.reversed();
        match known.get(&(path.clone(), change)) {
            Some(at) => differences[*at].breaks.forward = true,
            None => differences.push(Difference { path, change, old, new, breaks: breaks.reversed() }),
        }
    }
    let inputs = positions(old.inputs.iter().chain(&new.inputs));
    let outputs = positions(old.outputs.iter().chain(&new.outputs));
    differences.sort_by_cached_key(|difference| {
        (rank(&inputs, &outputs, &difference.path), difference.path.clone())
    });
    InterfaceComparison { direction, differences }
}

/// Whether both are one portable type. This is fast, and decides expressions that [`Matching`] cannot.
fn are_equal(old: &Interface, new: &Interface) -> bool {
    let mut pool = Pool::new();
    let old = old.to_pool(&mut pool);
    old.is_ok() && old == new.to_pool(&mut pool)
}

/// The first position of each name in a list of parameters.
type Positions<'i> = HashMap<&'i str, usize>;

fn positions<'i>(list: impl IntoIterator<Item = &'i Parameter>) -> Positions<'i> {
    let mut positions = Positions::new();
    for (at, parameter) in list.into_iter().enumerate() {
        positions.entry(&parameter.name).or_insert(at);
    }
    positions
}

const INPUTS: PathStep = PathStep::Part("inputs");
const OUTPUTS: PathStep = PathStep::Part("outputs");
const CONDITIONS: PathStep = PathStep::Part("conditions");

/// The sort key of a path: inputs in order, the list of inputs, conditions, outputs in order, the list of
/// outputs.
fn rank(inputs: &Positions<'_>, outputs: &Positions<'_>, path: &TypePath) -> (usize, usize) {
    let at = |list: &Positions<'_>, name: &str| list.get(name).copied().unwrap_or(usize::MAX);
    match path.0.as_slice() {
        [list, PathStep::Field(name), ..] if *list == INPUTS => (0, at(inputs, name)),
        [list] if *list == INPUTS => (1, 0),
        [list, ..] if *list == CONDITIONS => (2, 0),
        [_, PathStep::Field(name), ..] => (3, at(outputs, name)),
        _ => (4, 0),
    }
}

/// The pairs of parameters with the same name.
fn pairs<'i>(
    given: &'i [Parameter],
    expected: &'i [Parameter],
) -> impl Iterator<Item = (&'i Parameter, &'i Parameter)> {
    let by_name: HashMap<&str, &Parameter> =
        given.iter().map(|parameter| (parameter.name.as_str(), parameter)).collect();
    expected.iter().filter_map(move |parameter| Some((*by_name.get(parameter.name.as_str())?, parameter)))
}

/// The shapes of one rank at the same position of two types.
fn shape_pairs<'t>(a: &'t Type, b: &'t Type) -> Vec<(&'t [DimId], &'t [DimId])> {
    let (mut open, mut found) = (vec![(a, b)], Vec::new());
    while let Some((a, b)) = open.pop() {
        if let (Type::Composite(a), Type::Composite(b)) = (a.split().1, b.split().1) {
            let pair = |(name, child): &'t (Arc<str>, Type)| Some((child, b.child(name)?));
            open.extend(a.children.iter().rev().filter_map(pair));
        } else if let Some((a, b)) = a.tensor().zip(b.tensor())
            && let (Some(a), Some(b)) = (&a.shape, &b.shape)
            && a.len() == b.len()
        {
            found.push((&**a, &**b));
        }
    }
    found
}

/// The extents of the same axes of parameters with the same name.
fn extent_pairs(given: &[Parameter], expected: &[Parameter]) -> Vec<(DimId, DimId)> {
    pairs(given, expected)
        .flat_map(|(a, b)| shape_pairs(&a.ty, &b.ty))
        .flat_map(|(a, b)| a.iter().copied().zip(b.iter().copied()))
        .collect()
}

/// The reasons why a given program cannot replace an expected one, as differences from the expected to the
/// given one.
fn mismatches(given: &Interface, expected: &Interface, identity: PortIdentity) -> Vec<InterfaceDifference> {
    let mut matching = Matching::new(given, expected);
    matching.match_inputs(&extent_pairs(&given.inputs, &expected.inputs));
    let in_expected = positions(&expected.inputs);
    let is_known = |parameter: &Parameter| in_expected.contains_key(parameter.name.as_str());
    // Symbols of a required input that callers do not pass stay open: outputs differ because of that input,
    // which is reported.
    if given.inputs.iter().all(|parameter| parameter.optional || is_known(parameter)) {
        matching.close_inputs();
    }
    matching.match_outputs(&extent_pairs(&given.outputs, &expected.outputs));
    let mut comparer = Comparer { given, expected, matching, identity, found: Vec::new() };
    comparer.inputs();
    comparer.outputs();
    for condition in comparer.matching.stronger(given, expected) {
        let text = given.dims.display_condition(condition).to_string();
        let path = [CONDITIONS, PathStep::Field(text.clone())];
        comparer.report(path, InterfaceChange::ConditionAdded, text, String::new());
    }
    comparer.found
}

struct Comparer<'i> {
    given: &'i Interface,
    expected: &'i Interface,
    matching: Matching,
    identity: PortIdentity,
    found: Vec<InterfaceDifference>,
}

impl<'i> Comparer<'i> {
    fn report(
        &mut self,
        path: impl IntoIterator<Item = PathStep>,
        change: InterfaceChange,
        given: impl Into<String>,
        expected: impl Into<String>,
    ) {
        let (path, breaks) = (TypePath::from_iter(path), Breaks { backward: true, forward: false });
        self.found.push(Difference { path, change, old: expected.into(), new: given.into(), breaks });
    }

    fn inputs(&mut self) {
        let (given, expected) = (&self.given.inputs, &self.expected.inputs);
        let (in_given, in_expected) = (positions(given), positions(expected));
        for parameter in expected.iter().filter(|parameter| !in_given.contains_key(parameter.name.as_str())) {
            let ty = self.expected.show(&parameter.ty);
            self.report(Side::Input.path(parameter), InterfaceChange::InputRemoved, "", ty);
        }
        // Old callers do not pass new inputs, so these need a default.
        let is_new = |parameter: &&Parameter| !in_expected.contains_key(parameter.name.as_str());
        for parameter in given.iter().filter(is_new).filter(|parameter| !parameter.optional) {
            let ty = self.given.show(&parameter.ty);
            self.report(Side::Input.path(parameter), InterfaceChange::InputAdded, ty, "");
        }
        for (given, expected) in pairs(given, expected) {
            if expected.optional && !given.optional {
                let path = Side::Input.path(given);
                self.report(path, InterfaceChange::DefaultRemoved, "required", "optional");
            }
        }
        if self.identity == PortIdentity::NameAndPosition {
            let common = |list: &'i [Parameter], other: &Positions<'_>| -> Vec<&'i str> {
                list.iter().map(|it| it.name.as_str()).filter(|name| other.contains_key(name)).collect()
            };
            let (given, expected) = (common(given, &in_expected), common(expected, &in_given));
            if given != expected {
                let (given, expected) = (given.join(", "), expected.join(", "));
                self.report([INPUTS], InterfaceChange::InputOrder, given, expected);
            }
        }
        for (given, expected) in pairs(given, expected) {
            self.types(Side::Input, given, expected);
        }
    }

    fn outputs(&mut self) {
        let (given, expected) = (&self.given.outputs, &self.expected.outputs);
        let in_given = positions(given);
        let (mut is_moved, mut is_removed) = (false, false);
        for (at, parameter) in expected.iter().enumerate() {
            match in_given.get(parameter.name.as_str()) {
                Some(now) => is_moved |= *now != at,
                None => {
                    is_removed = true;
                    let ty = self.expected.show(&parameter.ty);
                    self.report(Side::Output.path(parameter), InterfaceChange::OutputRemoved, "", ty);
                }
            }
        }
        // A removed output moves the others.
        if self.identity == PortIdentity::NameAndPosition && is_moved && !is_removed {
            let names = |list: &[Parameter]| -> String {
                list.iter().map(|parameter| parameter.name.as_str()).collect::<Vec<_>>().join(", ")
            };
            self.report([OUTPUTS], InterfaceChange::OutputOrder, names(given), names(expected));
        }
        for (given, expected) in pairs(given, expected) {
            self.types(Side::Output, given, expected);
        }
    }

    /// Compares the types of one parameter, from the outside in.
    fn types(&mut self, side: Side, given: &Parameter, expected: &Parameter) {
        self.types_at(&side.path(given), side, (&given.ty, &given.ty), (&expected.ty, &expected.ty));
    }

    /// Compares the types of one parameter, or of one child of composites, at a path. The second type of each
    /// side is the one to report.
    fn types_at(
        &mut self,
        path: &[PathStep],
        side: Side,
        (mut a, given): (&Type, &Type),
        (mut b, expected): (&Type, &Type),
    ) {
        let change = loop {
            match (a, b) {
                (Type::Container(outer, x), Type::Container(other, y)) if outer == other => (a, b) = (x, y),
                (Type::Tensor(x), Type::Tensor(y)) | (Type::Sparse(x), Type::Sparse(y)) => {
                    if !side.contains(x.elem, y.elem) {
                        self.report_types(path, given, expected, InterfaceChange::Element);
                    }
                    return self.shapes(path, side, (given, x), (expected, y));
                }
                (Type::Composite(x), Type::Composite(y)) => {
                    if !side.admits(x, y) {
                        break InterfaceChange::Kind;
                    }
                    for (name, child) in &x.children {
                        if let Some(other) = y.child(name) {
                            let path = [path, &[PathStep::Field(name.to_string())]].concat();
                            self.types_at(&path, side, (child, child), (other, other));
                        }
                    }
                    return;
                }
                (Type::Scalar(x), Type::Scalar(y)) if side.contains(*x, *y) => return,
                (Type::Scalar(_), Type::Scalar(_)) => break InterfaceChange::Element,
                _ if self.kinds_fit(side, a, b) => return,
                _ => break InterfaceChange::Kind,
            }
        };
        self.report_types(path, given, expected, change);
    }

    fn report_types(&mut self, path: &[PathStep], given: &Type, expected: &Type, change: InterfaceChange) {
        let (given, expected) = (self.given.show(given), self.expected.show(expected));
        self.report(path.iter().cloned(), change, given, expected);
    }

    fn shapes(
        &mut self,
        path: &[PathStep],
        side: Side,
        (given, a): (&Type, &TensorType),
        (expected, b): (&Type, &TensorType),
    ) {
        let (a, b) = match (&a.shape, &b.shape, side) {
            (None, _, Side::Input) | (_, None, Side::Output) => return,
            (Some(a), Some(b), _) if a.len() == b.len() => (a, b),
            (Some(_), _, Side::Input | Side::Output) | (None, Some(_), Side::Output) => {
                return self.report_types(path, given, expected, InterfaceChange::Rank);
            }
        };
        for (axis, (x, y)) in a.iter().zip(b).enumerate() {
            if !self.matching.fits(*x, *y) {
                let axis = [PathStep::Part("shape"), PathStep::Element(axis)];
                let path = path.iter().cloned().chain(axis);
                let given = self.given.dims.display(*x).to_string();
                let expected = self.expected.dims.display(*y).to_string();
                self.report(path, InterfaceChange::Extent, given, expected);
            }
        }
    }

    /// Whether types of different kinds fit, because the kind of one is unknown.
    fn kinds_fit(&self, side: Side, given: &Type, expected: &Type) -> bool {
        let (wide, narrow) = side.wide_and_narrow(given, expected);
        match (wide, narrow) {
            (Type::Unknown(None), _) => true,
            (Type::Leaf(a), Type::Leaf(b)) => a == b,
            (Type::Unknown(Some(bound)), Type::Leaf(leaf) | Type::Unknown(Some(leaf))) => {
                self.given.universe.lattice().is_subtype(*leaf, *bound)
            }
            _ => false,
        }
    }
}

/// The list of a parameter.
#[derive(Clone, Copy)]
enum Side {
    Input,
    Output,
}

impl Side {
    fn path(self, parameter: &Parameter) -> [PathStep; 2] {
        let list = match self {
            Self::Input => INPUTS,
            Self::Output => OUTPUTS,
        };
        [list, PathStep::Field(parameter.name.clone())]
    }

    /// The type that must contain the other, and that other.
    fn wide_and_narrow<T>(self, given: T, expected: T) -> (T, T) {
        match self {
            Self::Input => (given, expected),
            Self::Output => (expected, given),
        }
    }

    /// Whether the children of the wider side are among those of the narrower one, and an unknown child is
    /// admitted.
    fn admits(self, given: &Composite<Type>, expected: &Composite<Type>) -> bool {
        let (wide, narrow) = self.wide_and_narrow(given, expected);
        let has = |of: &Composite<Type>, name: &str| of.child(name).is_some();
        wide.children.iter().all(|(name, _)| has(narrow, name))
            && (wide.is_open || !narrow.is_open && narrow.children.iter().all(|(name, _)| has(wide, name)))
    }

    /// Whether the element types of the wider side contain those of the narrower one.
    fn contains(self, given: ElemSet, expected: ElemSet) -> bool {
        let (wide, narrow) = self.wide_and_narrow(given, expected);
        wide.intersect(narrow) == narrow
    }
}
