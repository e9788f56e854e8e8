//! The properties of a node.
//!
//! A property has a family and, after a dot, the port, type variable or attribute that it is about, by its
//! name in ONNX's schema: `rank.X`, `type.T`, `attribute.mode`. `docs/targets.md` lists the families with
//! their meaning. Values are words.
//!
//! **Cost:** constant for each property, apart from lists of at most 256 elements.

use std::collections::BTreeSet;

use typeloom_dim::DimId;
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::model::bodies::SolvedBody;
use typeloom_solver::program::{StepId, ValueId};
use typeloom_solver::signature::{AttributeDefault, FormalType, Schema};
use typeloom_solver::solution::Type;

use super::folded::Folded;
use super::shapes::{Truth, is_equal, is_one, is_smaller};
use super::table::Operator;
use super::values::List;
use crate::node::text_of;

/// A node whose properties are asked for.
pub(crate) struct Subject<'c, 'a> {
    pub(crate) checked: &'c mut Checked<'a>,
    pub(crate) body: &'c SolvedBody<'a>,
    pub(crate) step: StepId,
    pub(crate) schema: &'a Schema,
    /// The measurements of its operator.
    pub(crate) operator: &'c Operator<'static>,
    /// The constants of the body.
    pub(crate) folded: &'c Folded,
    /// The extents of the inputs of the model that have no name.
    pub(crate) unnamed: &'c BTreeSet<DimId>,
}

/// The value of a property.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Value {
    Known(String),
    /// Each value that it can have, with the condition on symbols.
    Open(Vec<(&'static str, String)>),
    /// It is not known, or computed at run time.
    Unknown,
}

impl Value {
    fn word(word: &str) -> Self {
        Self::Known(word.to_owned())
    }

    fn number(number: impl ToString) -> Self {
        Self::Known(number.to_string())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::word(if value { "true" } else { "false" })
    }
}

impl From<Truth> for Value {
    fn from(truth: Truth) -> Self {
        match truth {
            Truth::Yes => Self::from(true),
            Truth::No => Self::from(false),
            Truth::Open { yes, no } => Self::Open(vec![("true", yes), ("false", no)]),
            Truth::Unknown => Self::Unknown,
        }
    }
}

const NONE: &str = "none";

impl<'a> Subject<'_, 'a> {
    /// The value of a property.
    pub(crate) fn property(&mut self, name: &str) -> Value {
        let (family, rest) = name.split_once('.').unwrap_or((name, ""));
        match family {
            "version" => Value::number(self.schema.since_version),
            "inputs" | "outputs" => {
                let body = &self.body.body;
                let ports = match family {
                    "inputs" => body.inputs(self.step),
                    _ => body.outputs(body.last_step(self.step)),
                };
                Value::number(ports.iter().flatten().count())
            }
            "type" => self.variable_type(rest),
            "rank" => match (self.port(rest), self.shape(rest)) {
                (None, _) => Value::word(NONE),
                (Some(_), Some(shape)) => Value::number(shape.len()),
                (Some(_), None) => Value::word("open"),
            },
            "present" => Value::from(self.port(rest).is_some()),
            "constant" => Value::from(self.is_constant(rest)),
            "quantized" => Value::Known(self.quantized(rest).unwrap_or(NONE).to_owned()),
            "extents" => self.extents(rest),
            "single" => match self.shape(rest) {
                Some(shape) => {
                    let dims = self.checked.dims_mut();
                    Truth::all(shape.into_iter().map(|dim| is_one(dims, dim)).collect::<Vec<_>>()).into()
                }
                None => Value::Unknown,
            },
            "smaller" => self.smaller(rest),
            "attribute" => self.scalar(rest),
            "has" => Value::from(self.scalar(rest) != Value::word(NONE)),
            "given" => Value::from(self.attribute(rest).is_some() || self.is_default_given(rest)),
            "equals" => {
                let (name, number) = rest.split_once('.').unwrap_or((rest, ""));
                self.int(name).map_or(Value::Unknown, |value| Value::from(number.parse() == Ok(value)))
            }
            "list" => self.kind_of_list(rest),
            "length" => match (self.schema.attribute(rest), self.input(rest)) {
                (None, Some(value)) => self.length(value).map_or(Value::Unknown, Value::number),
                _ => match self.list(rest) {
                    List::Absent => Value::word(NONE),
                    List::Unknown => Value::Unknown,
                    List::Known(items) => Value::number(items.len()),
                },
            },
            "every" | "some" => {
                let (name, number) = rest.split_once('.').unwrap_or((rest, ""));
                self.compared(name, number, family == "every")
            }
            "uniform" => match self.defaulted(rest) {
                List::Known(items) => Value::from(items.windows(2).all(|pair| pair[0] == pair[1])),
                List::Absent => Value::from(false),
                List::Unknown => Value::Unknown,
            },
            "even" => match self.numbers(rest) {
                Some(numbers) => Value::from(numbers.iter().all(|number| number % 2 == 0)),
                None => Value::from(false),
            },
            "same" => {
                let (first, second) = rest.split_once('.').unwrap_or((rest, ""));
                let (first, second) = (self.numbers(first), self.numbers(second));
                Value::from(first.is_some() && first == second)
            }
            "symmetric" => match self.numbers(rest) {
                Some(numbers) => Value::from(numbers[..numbers.len() / 2] == numbers[numbers.len() / 2..]),
                None => Value::Unknown,
            },
            "axis" => self.axis(rest),
            "axes" => self.axes(rest),
            "count" => match self.list(rest) {
                List::Known(items) => Value::number(items.len()),
                List::Absent => Value::word("0"),
                List::Unknown => match self.input(rest).and_then(|value| self.length(value)) {
                    Some(length) => Value::number(length),
                    None => Value::Unknown,
                },
            },
            "depth" => self.depth(rest).map_or(Value::Unknown, Value::number),
            "scatter" => self.scatter(rest),
            "gather" => self.gather(),
            "expand" => self.expand(rest == "grows"),
            "slice" => self.slice(rest),
            "uses" => match self.input(rest) {
                None => Value::from(false),
                Some(value) => self.length(value).map_or(Value::Unknown, |length| Value::from(length > 0)),
            },
            "resize" => match self.input("scales") {
                None => Value::from(false),
                Some(value) => match self.floats(value) {
                    Some(scales) if rest == "up" => Value::from(scales.iter().all(|scale| *scale >= 1.0)),
                    Some(scales) => Value::from(scales.iter().all(|scale| *scale <= 1.0)),
                    None => Value::Unknown,
                },
            },
            "value" => match self.list(rest) {
                List::Absent => Value::word(NONE),
                List::Known(items) => match items.as_slice() {
                    [item] => self.scalar_value(rest, *item),
                    _ => Value::Unknown,
                },
                List::Unknown => Value::Unknown,
            },
            "shape" => match self.shape("data") {
                Some(shape) => {
                    let rank = i64::try_from(shape.len()).unwrap_or(i64::MAX);
                    let end = self.attribute("end").and_then(|attribute| attribute.i).unwrap_or(rank);
                    Value::from(self.int("start").unwrap_or(0) < end)
                }
                None => Value::Unknown,
            },
            _ => Value::Unknown,
        }
    }

    /// The value at the input with a name; the first one of a variadic input.
    pub(crate) fn input(&self, name: &str) -> Option<ValueId> {
        let at = self.schema.inputs.iter().position(|formal| &*formal.name == name)?;
        self.body.body.inputs(self.step).get(at).copied().flatten()
    }

    /// The value at the input or output with a name.
    fn port(&self, name: &str) -> Option<ValueId> {
        self.input(name).or_else(|| {
            let at = self.schema.outputs.iter().position(|formal| &*formal.name == name)?;
            let body = &self.body.body;
            body.outputs(body.last_step(self.step)).get(at).copied().flatten()
        })
    }

    fn type_of(&mut self, value: ValueId) -> Type {
        self.checked.type_within(self.body, value)
    }

    fn shape(&mut self, port: &str) -> Option<Vec<DimId>> {
        let value = self.port(port)?;
        self.shape_of(value)
    }

    fn shape_of(&mut self, value: ValueId) -> Option<Vec<DimId>> {
        let shape = self.type_of(value).tensor()?.shape.as_ref()?.to_vec();
        Some(shape)
    }

    /// The number of elements of a list at an input.
    fn length(&mut self, value: ValueId) -> Option<i64> {
        let shape = self.shape_of(value)?;
        match shape.as_slice() {
            [] => Some(1),
            [extent] => self.checked.dims().as_constant(*extent),
            _ => None,
        }
    }

    /// The element type of the first present value with a type variable, inputs first.
    fn variable_type(&mut self, variable: &str) -> Value {
        let Some(number) = self.schema.type_vars.iter().position(|declared| &*declared.name == variable)
        else {
            return self.named_type(variable);
        };
        let fits = |ty: &FormalType| matches!(ty, FormalType::Var(own) if usize::from(*own) == number);
        let body = &self.body.body;
        let schema = self.schema;
        let inputs = body.inputs(self.step).iter().enumerate().map(|(at, value)| (schema.input(at), *value));
        let outputs = body.outputs(body.last_step(self.step)).iter().enumerate();
        let outputs = outputs.map(|(at, value)| (schema.output(at), *value));
        let mut values = inputs.chain(outputs).filter_map(|(formal, value)| Some((formal?, value?)));
        match values.find(|(formal, _)| fits(&formal.ty)) {
            Some((_, value)) => text_of(&self.type_of(value)).map_or(Value::Unknown, Value::Known),
            None => Value::word(NONE),
        }
    }

    /// The element type at a port.
    fn named_type(&mut self, port: &str) -> Value {
        match self.port(port) {
            Some(value) => text_of(&self.type_of(value)).map_or(Value::Unknown, Value::Known),
            None => Value::word(NONE),
        }
    }

    /// Whether an input is a constant, also behind its dequantisation.
    fn is_constant(&self, port: &str) -> bool {
        let body = &self.body.body;
        let Some(value) = self.input(port) else { return false };
        let source = super::node::dequantized(body, value).unwrap_or(value);
        self.folded.has(source)
    }

    /// The element type of the integers that a port has before `DequantizeLinear` or after `QuantizeLinear`.
    fn quantized(&mut self, port: &str) -> Option<&'static str> {
        let body = std::sync::Arc::clone(&self.body.body);
        let value = match self.input(port) {
            Some(value) => super::node::dequantized(&body, value)?,
            None => super::node::requantized(&body, self.port(port)?)?,
        };
        self.type_of(value).tensor()?.elem.single().and_then(Elem::onnx_name)
    }

    fn extents(&mut self, port: &str) -> Value {
        match (self.port(port), self.shape(port)) {
            (None, _) => Value::word(NONE),
            (Some(_), None) => Value::word("open"),
            (Some(_), Some(shape)) => {
                let dims = self.checked.dims();
                let is_fixed = shape.iter().all(|dim| dims.as_constant(*dim).is_some());
                Value::word(if is_fixed { "fixed" } else { "open" })
            }
        }
    }

    /// Whether the first of two inputs has a smaller rank, or an extent that is smaller than that of the same
    /// axis of the other.
    fn smaller(&mut self, ports: &str) -> Value {
        let (first, second) = ports.split_once('.').unwrap_or((ports, ""));
        let (Some(first), Some(second)) = (self.shape(first), self.shape(second)) else {
            return Value::Unknown;
        };
        self.is_smaller(&first, &second).into()
    }

    fn is_smaller(&mut self, first: &[DimId], second: &[DimId]) -> Truth {
        if first.len() < second.len() {
            return Truth::Yes;
        }
        let dims = self.checked.dims_mut();
        let one = dims.constant(1);
        let aligned = second.iter().rev().copied().chain(std::iter::repeat(one));
        let pairs = first.iter().rev().zip(aligned);
        Truth::any(pairs.map(|(a, b)| is_smaller(dims, *a, b)).collect::<Vec<_>>())
    }

    /// The value of an attribute that is a number or a string, or its default.
    fn scalar(&self, name: &str) -> Value {
        if let Some(attribute) = self.attribute(name) {
            return match (attribute.s, attribute.i, attribute.f) {
                (Some(text), ..) => Value::Known(String::from_utf8_lossy(text).into_owned()),
                (_, Some(int), _) => Value::number(int),
                (_, _, Some(float)) => Value::number(float),
                _ => Value::Unknown,
            };
        }
        match self.schema.attribute(name).and_then(|declared| declared.default.as_ref()) {
            Some(AttributeDefault::Int(int)) => Value::number(int),
            Some(AttributeDefault::Float(float)) => Value::number(float),
            Some(AttributeDefault::String(text)) => Value::word(text),
            Some(AttributeDefault::Floats(_) | AttributeDefault::Ints(_) | AttributeDefault::Strings(_)) => {
                Value::Unknown
            }
            None => Value::word(NONE),
        }
    }

    /// Whether an absent attribute is as good as one that is given with the default of the specification: the
    /// rows have no node without it.
    fn is_default_given(&self, name: &str) -> bool {
        let given = format!("given.{name}");
        let property = self.operator.properties.iter().find(|(property, _)| *property == given);
        let has_default = self.schema.attribute(name).is_some_and(|declared| declared.default.is_some());
        (has_default || default_element(name).is_some())
            && property.is_none_or(|(_, values)| !values.contains(&"false"))
    }

    /// A list, with its default of the specification if no row lacks it.
    fn defaulted(&mut self, name: &str) -> List {
        match (self.list(name), default_element(name)) {
            (List::Absent, Some(element)) if self.is_default_given(name) => {
                List::Known(vec![self.checked.dims_mut().constant(element)])
            }
            (list, _) => list,
        }
    }

    fn kind_of_list(&mut self, name: &str) -> Value {
        match self.list(name) {
            List::Absent => Value::word(NONE),
            List::Unknown => Value::Unknown,
            List::Known(items) => {
                let dims = self.checked.dims();
                let numbers: Option<Vec<i64>> = items.iter().map(|item| dims.as_constant(*item)).collect();
                let Some(numbers) = numbers else { return Value::Unknown };
                Value::word(match numbers.as_slice() {
                    [] => "empty",
                    all if all.iter().all(|number| *number == 0) => "zeros",
                    all if all.iter().all(|number| *number == 1) => "ones",
                    all if all.iter().any(|number| *number < 0) => "negative",
                    all if all.windows(2).all(|pair| pair[0] == pair[1]) => "uniform",
                    _ => "mixed",
                })
            }
        }
    }

    /// Whether each or some element of a list is a number.
    fn compared(&mut self, name: &str, number: &str, each: bool) -> Value {
        let Ok(number) = number.parse::<i64>() else { return Value::Unknown };
        let items = match self.defaulted(name) {
            List::Known(items) => items,
            // Steps are 1 if they are not given.
            List::Absent if name == "steps" => return Value::from(number == 1),
            List::Absent => return Value::from(false),
            List::Unknown => return Value::Unknown,
        };
        let dims = self.checked.dims_mut();
        let number = dims.constant(number);
        let answers: Vec<Truth> = items.into_iter().map(|item| is_equal(dims, item, number)).collect();
        if each { Truth::all(answers).into() } else { Truth::any(answers).into() }
    }

    /// The rank of the first input.
    fn first_shape(&mut self) -> Option<Vec<DimId>> {
        let value = self.body.body.inputs(self.step).first().copied().flatten()?;
        self.shape_of(value)
    }

    fn axis(&mut self, question: &str) -> Value {
        let (Some(axis), Some(shape)) = (self.int("axis"), self.first_shape()) else { return Value::Unknown };
        let rank = i64::try_from(shape.len()).unwrap_or(i64::MAX);
        let normal = if axis < 0 { axis + rank } else { axis };
        match question {
            "first" => Value::from(normal == 0),
            "last" => Value::from(normal == rank - 1),
            "negative" => Value::from(axis < 0),
            "normalized" => Value::number(normal),
            "one" => match usize::try_from(normal).ok().and_then(|at| shape.get(at)) {
                Some(dim) => is_one(self.checked.dims_mut(), *dim).into(),
                None => Value::from(false),
            },
            _ => Value::Unknown,
        }
    }

    fn axes(&mut self, question: &str) -> Value {
        let list = self.list("axes");
        match question {
            "empty" | "several" => {
                let count = match list {
                    List::Absent => Some(0),
                    List::Known(items) => i64::try_from(items.len()).ok(),
                    List::Unknown => self.input("axes").and_then(|value| self.length(value)),
                };
                return count.map_or(Value::Unknown, |count| {
                    Value::from(if question == "empty" { count == 0 } else { count > 1 })
                });
            }
            _ => {}
        }
        if list == List::Absent {
            return Value::word(NONE);
        }
        let (Some(axes), Some(shape)) = (self.numbers("axes"), self.first_shape()) else {
            return Value::Unknown;
        };
        let rank = i64::try_from(shape.len()).unwrap_or(i64::MAX);
        match question {
            "single" => Value::from(axes.len() == 1),
            "zero" => Value::from(axes.contains(&0)),
            "first" => Value::from(axes.contains(&0) || axes.contains(&-rank)),
            "last" => Value::from(axes.contains(&(rank - 1)) || axes.contains(&-1)),
            "all" => Value::from(axes.len() == shape.len()),
            _ => Value::Unknown,
        }
    }

    /// The last extent of an input.
    fn depth(&mut self, port: &str) -> Option<i64> {
        let shape = self.shape(port)?;
        self.checked.dims().as_constant(*shape.last()?)
    }

    fn scatter(&mut self, question: &str) -> Value {
        let Some(indices) = self.shape("indices") else { return Value::Unknown };
        if question == "line" {
            return Value::from(indices.len() == 1);
        }
        let (Some(depth), Some(data)) = (self.depth("indices"), self.shape("data")) else {
            return Value::Unknown;
        };
        let rank = i64::try_from(data.len()).unwrap_or(i64::MAX);
        match question {
            "one" => Value::from(depth == 1),
            "two" => Value::from(depth == 2),
            "rows" => Value::from(depth == rank - 1),
            "elements" => Value::from(depth == rank),
            _ => Value::Unknown,
        }
    }

    /// Whether `GatherElements` has no extents of data and indices, apart from those of its axis, that are
    /// different numbers.
    fn gather(&mut self) -> Value {
        let (Some(axis), Some(data), Some(indices)) =
            (self.int("axis"), self.shape("data"), self.shape("indices"))
        else {
            return Value::word("open");
        };
        let rank = i64::try_from(data.len()).unwrap_or(i64::MAX);
        let axis = if axis < 0 { axis + rank } else { axis };
        let dims = self.checked.dims();
        let differ = |(at, (a, b)): (usize, (&DimId, &DimId))| {
            let numbers = dims.as_constant(*a).zip(dims.as_constant(*b));
            i64::try_from(at) != Ok(axis) && numbers.is_some_and(|(a, b)| a != b)
        };
        Value::from(!data.iter().zip(&indices).enumerate().any(differ))
    }

    /// Whether `Expand` makes its input larger, or keeps a part of it that is larger than the given shape.
    fn expand(&mut self, grows: bool) -> Value {
        let (Some(shape), List::Known(wanted)) = (self.shape("input"), self.list("shape")) else {
            return Value::Unknown;
        };
        match grows {
            true => self.is_smaller(&shape, &wanted).into(),
            false => self.is_smaller(&wanted, &shape).into(),
        }
    }

    fn slice(&mut self, question: &str) -> Value {
        let Some(shape) = self.shape("data") else { return Value::Unknown };
        let rank = i64::try_from(shape.len()).unwrap_or(i64::MAX);
        let axes: Vec<i64> = match self.list("axes") {
            List::Absent => (0..rank).collect(),
            _ => match self.numbers("axes") {
                Some(axes) => axes,
                None if question == "single" => {
                    let length = self.input("axes").and_then(|value| self.length(value));
                    return length.map_or(Value::Unknown, |length| Value::from(length == 1));
                }
                None => return Value::Unknown,
            },
        };
        if question == "single" {
            return Value::from(axes.len() == 1);
        }
        let (List::Known(starts), List::Known(ends)) = (self.list("starts"), self.list("ends")) else {
            return Value::Unknown;
        };
        let dims = self.checked.dims_mut();
        let mut answers = Vec::new();
        for ((axis, start), end) in axes.iter().zip(starts).zip(ends) {
            let at = if *axis < 0 { axis + rank } else { *axis };
            let Some(extent) = usize::try_from(at).ok().and_then(|at| shape.get(at).copied()) else {
                return Value::Unknown;
            };
            let start = wrapped(dims, start, extent);
            answers.push(match question {
                "last" => {
                    let one = dims.constant(1);
                    let last = dims.sub(extent, one);
                    is_equal(dims, start, last)
                }
                _ => {
                    let zero = dims.constant(0);
                    let end = wrapped(dims, end, extent);
                    let from_start = is_equal(dims, start, zero);
                    Truth::all([from_start, is_smaller(dims, end, extent).not()])
                }
            });
        }
        Truth::all(answers).into()
    }

    /// A number or Boolean at an input with one element.
    fn scalar_value(&mut self, port: &str, item: DimId) -> Value {
        let is_bool = self.port(port).is_some_and(|value| {
            self.type_of(value).tensor().is_some_and(|tensor| tensor.elem.single() == Some(Elem::BOOL))
        });
        match self.checked.dims().as_constant(item) {
            Some(number) if is_bool => Value::from(number != 0),
            Some(number) => Value::number(number),
            None => Value::Unknown,
        }
    }
}

/// The element of a list that the specification assumes if the attribute is absent.
fn default_element(name: &str) -> Option<i64> {
    match name {
        "strides" | "dilations" => Some(1),
        "pads" => Some(0),
        _ => None,
    }
}

/// A position that counts from the end if it is negative.
fn wrapped(dims: &mut typeloom_dim::Dims, position: DimId, extent: DimId) -> DimId {
    match dims.as_constant(position) {
        Some(number) if number < 0 => dims.add(position, extent),
        _ => position,
    }
}
