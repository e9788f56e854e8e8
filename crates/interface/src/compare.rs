//! Whether one program can stand where another stood, and every reason why not.
//!
//! *Backward* compatible: the new program can replace the old one for the old one's callers. Inputs are contravariant
//! (the new one must take whatever callers gave), outputs covariant (it must give what they rely on). *Forward*: the old
//! program can stand where the new one is expected. *Full*: both.
//!
//! Each direction is decided by itself, by [`Matching`]; a difference found in both is listed once.
//!
//! **Invariant:** two interfaces of one digest have no differences, and two without differences in either direction are
//! interchangeable for every caller.

use std::collections::HashMap;

use typeloom_pool::Pool;
use typeloom_solver::elem::ElemSet;
use typeloom_solver::solution::{TensorType, Type};

use crate::matching::Matching;
use crate::{Interface, Parameter, extents};

/// Which way programs must fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Direction {
    /// The new program replaces the old one.
    #[default]
    Backward,
    /// The old program stands where the new one is expected.
    Forward,
    /// Both.
    Full,
}

/// What callers go by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Binding {
    /// Names and positions: some runtimes bind by one, some by the other, so neither may change.
    #[default]
    NameAndPosition,
    /// Names alone.
    Name,
}

/// What differs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Change {
    /// Only the new program has the input.
    InputAdded,
    /// Only the old program has the input.
    InputRemoved,
    /// The input may be left out now.
    DefaultAdded,
    /// The input may not be left out any more.
    DefaultRemoved,
    /// The inputs stand in another order.
    InputOrder,
    /// Only the new program has the output.
    OutputAdded,
    /// Only the old program has the output.
    OutputRemoved,
    /// The outputs stand at other positions.
    OutputOrder,
    /// Another kind of type.
    Kind,
    /// Another element type.
    Element,
    /// Another number of axes.
    Rank,
    /// Another extent, or another relation between extents.
    Extent,
    /// Only the new program needs the condition.
    ConditionAdded,
    /// Only the old program needs the condition.
    ConditionRemoved,
}

impl Change {
    /// The change as tools read it.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::InputAdded => "input-added",
            Self::InputRemoved => "input-removed",
            Self::DefaultAdded => "default-added",
            Self::DefaultRemoved => "default-removed",
            Self::InputOrder => "input-order",
            Self::OutputAdded => "output-added",
            Self::OutputRemoved => "output-removed",
            Self::OutputOrder => "output-order",
            Self::Kind => "type-changed",
            Self::Element => "element-type-changed",
            Self::Rank => "rank-changed",
            Self::Extent => "extent-changed",
            Self::ConditionAdded => "condition-added",
            Self::ConditionRemoved => "condition-removed",
        }
    }

    /// The same difference with the two sides exchanged.
    fn reversed(self) -> Self {
        match self {
            Self::InputAdded => Self::InputRemoved,
            Self::InputRemoved => Self::InputAdded,
            Self::DefaultAdded => Self::DefaultRemoved,
            Self::DefaultRemoved => Self::DefaultAdded,
            Self::OutputAdded => Self::OutputRemoved,
            Self::OutputRemoved => Self::OutputAdded,
            Self::ConditionAdded => Self::ConditionRemoved,
            Self::ConditionRemoved => Self::ConditionAdded,
            Self::InputOrder | Self::OutputOrder | Self::Kind | Self::Element | Self::Rank | Self::Extent => {
                self
            }
        }
    }
}

/// Where a difference is.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Place {
    /// A condition on the symbols of inputs, as text.
    Condition(String),
    /// The list of inputs.
    Inputs,
    /// An input.
    Input(String),
    /// An axis of an input.
    InputAxis(String, usize),
    /// The list of outputs.
    Outputs,
    /// An output.
    Output(String),
    /// An axis of an output.
    OutputAxis(String, usize),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Condition(text) => write!(f, "conditions.{text}"),
            Self::Inputs => f.write_str("inputs"),
            Self::Input(name) => write!(f, "inputs.{name}"),
            Self::InputAxis(name, axis) => write!(f, "inputs.{name}.shape[{axis}]"),
            Self::Outputs => f.write_str("outputs"),
            Self::Output(name) => write!(f, "outputs.{name}"),
            Self::OutputAxis(name, axis) => write!(f, "outputs.{name}.shape[{axis}]"),
        }
    }
}

/// One difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Where.
    pub place: Place,
    /// What.
    pub change: Change,
    /// What stands there in the old interface, as text; empty where nothing does.
    pub old: String,
    /// What stands there in the new interface.
    pub new: String,
    /// Whether it keeps the new program from replacing the old one.
    pub breaks_backward: bool,
    /// Whether it keeps the old program from standing where the new one is expected.
    pub breaks_forward: bool,
}

/// The answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// Which way was asked for.
    pub direction: Direction,
    /// Every difference, inputs first, in the order of the old interface and then of the new one.
    pub differences: Vec<Difference>,
}

impl Comparison {
    /// Whether a difference breaks the direction that was asked for.
    #[must_use]
    pub fn is_breaking(&self, difference: &Difference) -> bool {
        match self.direction {
            Direction::Backward => difference.breaks_backward,
            Direction::Forward => difference.breaks_forward,
            Direction::Full => difference.breaks_backward || difference.breaks_forward,
        }
    }

    /// Whether none does.
    #[must_use]
    pub fn is_compatible(&self) -> bool {
        !self.differences.iter().any(|difference| self.is_breaking(difference))
    }
}

/// Compares two interfaces.
#[must_use]
pub fn compare(old: &Interface, new: &Interface, direction: Direction, binding: Binding) -> Comparison {
    let mut differences: Vec<Difference> = Vec::new();
    if are_equal(old, new) {
        return Comparison { direction, differences };
    }
    for found in reasons(new, old, binding) {
        let Reason { place, change, given, expected } = found;
        differences.push(Difference {
            place,
            change,
            old: expected,
            new: given,
            breaks_backward: true,
            breaks_forward: false,
        });
    }
    let mut known: HashMap<(Place, Change), usize> = HashMap::new();
    for (at, difference) in differences.iter().enumerate() {
        known.entry((difference.place.clone(), difference.change)).or_insert(at);
    }
    for found in reasons(old, new, binding) {
        let Reason { place, change, given, expected } = found;
        let change = change.reversed();
        match known.get(&(place.clone(), change)) {
            Some(at) => differences[*at].breaks_forward = true,
            None => differences.push(Difference {
                place,
                change,
                old: given,
                new: expected,
                breaks_backward: false,
                breaks_forward: true,
            }),
        }
    }
    let inputs = positions(old.inputs.iter().chain(&new.inputs));
    let outputs = positions(old.outputs.iter().chain(&new.outputs));
    differences.sort_by_cached_key(|difference| {
        (rank(&inputs, &outputs, &difference.place), difference.place.clone())
    });
    Comparison { direction, differences }
}

/// Whether both are one portable type: the fast yes, and for expressions that no arithmetic here decides the only one.
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

/// Where a place stands in the lists, for an order that people expect.
fn rank(inputs: &Positions<'_>, outputs: &Positions<'_>, place: &Place) -> (bool, bool, usize) {
    let at = |list: &Positions<'_>, name: &str| list.get(name).copied().unwrap_or(usize::MAX);
    match place {
        Place::Input(name) | Place::InputAxis(name, _) => (false, false, at(inputs, name)),
        Place::Inputs => (false, true, 0),
        Place::Condition(_) => (false, true, 1),
        Place::Output(name) | Place::OutputAxis(name, _) => (true, false, at(outputs, name)),
        Place::Outputs => (true, true, 0),
    }
}

/// Why a given program cannot stand where another is expected. Changes are told from the expected to the given.
struct Reason {
    place: Place,
    change: Change,
    given: String,
    expected: String,
}

/// The pairs of parameters of one name.
fn pairs<'i>(
    given: &'i [Parameter],
    expected: &'i [Parameter],
) -> impl Iterator<Item = (&'i Parameter, &'i Parameter)> {
    let by_name: HashMap<&str, &Parameter> =
        given.iter().map(|parameter| (parameter.name.as_str(), parameter)).collect();
    expected.iter().filter_map(move |parameter| Some((*by_name.get(parameter.name.as_str())?, parameter)))
}

fn reasons(given: &Interface, expected: &Interface, binding: Binding) -> Vec<Reason> {
    let mut found = Vec::new();
    let mut matching = Matching::new(given, expected);
    for [given, expected] in [[&given.inputs, &expected.inputs], [&given.outputs, &expected.outputs]] {
        let extents: Vec<_> = pairs(given, expected)
            .filter(|(a, b)| extents(&a.ty).len() == extents(&b.ty).len())
            .flat_map(|(a, b)| extents(&a.ty).iter().copied().zip(extents(&b.ty).iter().copied()))
            .collect();
        matching.match_all(&extents);
    }
    let mut cx = Cx { given, expected, matching };
    cx.inputs(&mut found, binding);
    cx.outputs(&mut found, binding);
    for condition in cx.matching.stronger(given, expected) {
        let text = given.dims.display_condition(condition).to_string();
        found.push(Reason {
            place: Place::Condition(text.clone()),
            change: Change::ConditionAdded,
            given: text,
            expected: String::new(),
        });
    }
    found
}

struct Cx<'i> {
    given: &'i Interface,
    expected: &'i Interface,
    matching: Matching,
}

impl Cx<'_> {
    fn inputs(&mut self, found: &mut Vec<Reason>, binding: Binding) {
        let (given, expected) = (&self.given.inputs, &self.expected.inputs);
        let (in_given, in_expected) = (positions(given), positions(expected));
        let named = |list: &Positions<'_>, name: &str| list.contains_key(name);
        for parameter in expected.iter().filter(|parameter| !named(&in_given, &parameter.name)) {
            found.push(Reason {
                place: Place::Input(parameter.name.clone()),
                change: Change::InputRemoved,
                given: String::new(),
                expected: self.expected.show(&parameter.ty),
            });
        }
        // What callers do not know must have a value without them.
        for parameter in given.iter().filter(|it| !it.optional && !named(&in_expected, &it.name)) {
            found.push(Reason {
                place: Place::Input(parameter.name.clone()),
                change: Change::InputAdded,
                given: self.given.show(&parameter.ty),
                expected: String::new(),
            });
        }
        for (a, b) in pairs(given, expected) {
            if b.optional && !a.optional {
                found.push(Reason {
                    place: Place::Input(a.name.clone()),
                    change: Change::DefaultRemoved,
                    given: "required".to_owned(),
                    expected: "optional".to_owned(),
                });
            }
        }
        if binding == Binding::NameAndPosition {
            let order = |list: &[Parameter], other: &Positions<'_>| -> Vec<String> {
                list.iter().map(|it| it.name.clone()).filter(|name| named(other, name)).collect()
            };
            let (a, b) = (order(given, &in_expected), order(expected, &in_given));
            if a != b {
                found.push(Reason {
                    place: Place::Inputs,
                    change: Change::InputOrder,
                    given: a.join(", "),
                    expected: b.join(", "),
                });
            }
        }
        let pairs: Vec<_> = pairs(given, expected).collect();
        for (a, b) in pairs {
            self.types(found, Side::Input, a, b);
        }
    }

    fn outputs(&mut self, found: &mut Vec<Reason>, binding: Binding) {
        let (given, expected) = (&self.given.outputs, &self.expected.outputs);
        let in_given = positions(given);
        let mut moved = false;
        for (at, parameter) in expected.iter().enumerate() {
            match in_given.get(parameter.name.as_str()) {
                Some(now) => moved |= *now != at,
                None => found.push(Reason {
                    place: Place::Output(parameter.name.clone()),
                    change: Change::OutputRemoved,
                    given: String::new(),
                    expected: self.expected.show(&parameter.ty),
                }),
            }
        }
        // Where one is gone, the others have moved because of that.
        let gone = expected.iter().any(|it| !in_given.contains_key(it.name.as_str()));
        if binding == Binding::NameAndPosition && moved && !gone {
            let names = |list: &[Parameter]| -> String {
                list.iter().map(|parameter| parameter.name.as_str()).collect::<Vec<_>>().join(", ")
            };
            found.push(Reason {
                place: Place::Outputs,
                change: Change::OutputOrder,
                given: names(given),
                expected: names(expected),
            });
        }
        let pairs: Vec<_> = pairs(given, expected).collect();
        for (a, b) in pairs {
            self.types(found, Side::Output, a, b);
        }
    }

    /// Compares the types of one parameter, from the outside in.
    fn types(&mut self, found: &mut Vec<Reason>, side: Side, given: &Parameter, expected: &Parameter) {
        let place = || match side {
            Side::Input => Place::Input(given.name.clone()),
            Side::Output => Place::Output(given.name.clone()),
        };
        let reason = |this: &Self, place: Place, change: Change| Reason {
            place,
            change,
            given: this.given.show(&given.ty),
            expected: this.expected.show(&expected.ty),
        };
        let (mut a, mut b) = (&given.ty, &expected.ty);
        let (a, b) = loop {
            match (a, b) {
                (Type::Sequence(x), Type::Sequence(y)) | (Type::Optional(x), Type::Optional(y)) => {
                    (a, b) = (x, y);
                }
                (Type::Map(k, x), Type::Map(l, y)) if k == l => (a, b) = (x, y),
                (Type::Tensor(x), Type::Tensor(y)) | (Type::Sparse(x), Type::Sparse(y)) => break (x, y),
                (Type::Scalar(x), Type::Scalar(y)) => {
                    if !side.wider(*x, *y) {
                        found.push(reason(self, place(), Change::Element));
                    }
                    return;
                }
                _ => {
                    if !self.kinds_fit(side, a, b) {
                        found.push(reason(self, place(), Change::Kind));
                    }
                    return;
                }
            }
        };
        if !side.wider(a.elem, b.elem) {
            found.push(reason(self, place(), Change::Element));
        }
        self.shapes(found, side, &given.name, (a, b), &reason);
    }

    fn shapes(
        &mut self,
        found: &mut Vec<Reason>,
        side: Side,
        name: &str,
        (a, b): (&TensorType, &TensorType),
        reason: &dyn Fn(&Self, Place, Change) -> Reason,
    ) {
        let place = |axis: Option<usize>| match (side, axis) {
            (Side::Input, None) => Place::Input(name.to_owned()),
            (Side::Input, Some(axis)) => Place::InputAxis(name.to_owned(), axis),
            (Side::Output, None) => Place::Output(name.to_owned()),
            (Side::Output, Some(axis)) => Place::OutputAxis(name.to_owned(), axis),
        };
        let (shape, expected) = match (&a.shape, &b.shape, side) {
            (None, _, Side::Input) | (_, None, Side::Output) => return,
            (Some(a), Some(b), _) if a.len() == b.len() => (a, b),
            (Some(_), _, Side::Input | Side::Output) | (None, Some(_), Side::Output) => {
                found.push(reason(self, place(None), Change::Rank));
                return;
            }
        };
        for (axis, (x, y)) in shape.iter().zip(expected).enumerate() {
            if !self.matching.fits(*x, *y) {
                let whole = reason(self, place(Some(axis)), Change::Extent);
                let given = self.given.dims.display(*x).to_string();
                let expected = self.expected.dims.display(*y).to_string();
                found.push(Reason { given, expected, ..whole });
            }
        }
    }

    /// Types of different kinds fit where one of them is not known down to a kind.
    fn kinds_fit(&self, side: Side, given: &Type, expected: &Type) -> bool {
        let (wide, narrow) = match side {
            Side::Input => (given, expected),
            Side::Output => (expected, given),
        };
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

/// Which list a parameter stands in.
#[derive(Clone, Copy)]
enum Side {
    Input,
    Output,
}

impl Side {
    /// Whether a given parameter takes every element type that callers give, or gives none that they do not expect.
    fn wider(self, given: ElemSet, expected: ElemSet) -> bool {
        let (wide, narrow) = match self {
            Self::Input => (given, expected),
            Self::Output => (expected, given),
        };
        wide.intersect(narrow) == narrow
    }
}
