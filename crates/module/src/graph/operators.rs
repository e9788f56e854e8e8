//! Every operator of ONNX's default domain as a method.
//!
//! The methods of [`OperatorMethods`] take all inputs as arguments. [`Graph`] implements this trait. The
//! placeholder of a backend implements it too, and its methods record nodes that run on the slot of the
//! backend. Operators whose first input is a single value are also methods of [`ValueRef`]:
//! `x.conv(&w, None, ConvAttrs { group: Some(2), ..Default::default() })`.
//!
//! The arguments are the inputs, then the required attributes, then a structure of the optional attributes
//! (see [`attributes`]). An optional input is an `Option`, a variadic input is a slice. A method returns the
//! required outputs; a method with the suffix `_all` returns the optional outputs too.
//!
//! **Invariant:** the list in `table` is generated from the operator table. A test fails if they differ, and
//! rewrites it under `TYPELOOM_BLESS=1`. Operators with nested graphs are in
//! [`control`](super::control).

use std::convert::identity;

use typeloom_onnx::messages::{AttributeProto, TensorProto, TypeProto};
use typeloom_program::domain::Domain;
use typeloom_program::program::{GraphId, ValueId};
use typeloom_types::dtype::Dtype;

use super::Graph;
use super::recorder::NewNode;
use super::value::{ValueRef, usable};
use crate::location::SourceLocation;
use crate::names::snake_case;
use typeloom_onnx::messages::IntoAttribute;

/// An input argument of an operator method.
#[derive(Clone, Copy, Debug)]
pub enum Input<'v> {
    One(&'v ValueRef),
    Maybe(Option<&'v ValueRef>),
    Many(&'v [&'v ValueRef]),
}

impl<'v> From<&'v ValueRef> for Input<'v> {
    fn from(value: &'v ValueRef) -> Self {
        Self::One(value)
    }
}

impl<'v> From<Option<&'v ValueRef>> for Input<'v> {
    fn from(value: Option<&'v ValueRef>) -> Self {
        Self::Maybe(value)
    }
}

impl<'v> From<&'v [&'v ValueRef]> for Input<'v> {
    fn from(values: &'v [&'v ValueRef]) -> Self {
        Self::Many(values)
    }
}

/// The return type of an operator method.
pub trait FromOutputs {
    /// Converts the outputs of a node. Their number is the number of outputs of the method.
    fn from_outputs(values: Vec<ValueRef>) -> Self;
}

impl FromOutputs for Vec<ValueRef> {
    fn from_outputs(values: Vec<ValueRef>) -> Self {
        values
    }
}

impl<const N: usize> FromOutputs for [ValueRef; N] {
    fn from_outputs(values: Vec<ValueRef>) -> Self {
        Self::try_from(values).expect("a node has the outputs that it was recorded with")
    }
}

impl FromOutputs for ValueRef {
    fn from_outputs(values: Vec<ValueRef>) -> Self {
        let [value] = FromOutputs::from_outputs(values);
        value
    }
}

/// Records a node in the innermost open graph of a recording.
pub(crate) fn record(
    graph: &Graph,
    slot: Option<(&str, typeloom_contracts::role::Role)>,
    (domain, op): (Domain, &str),
    inputs: &[Input<'_>],
    attributes: Vec<AttributeProto>,
    outputs: usize,
    location: SourceLocation,
) -> Vec<ValueRef> {
    record_with_graphs(graph, slot, (domain, op), inputs, (attributes, Vec::new()), outputs, location)
}

/// As [`record`], for a node with graphs as attributes.
pub(crate) fn record_with_graphs(
    graph: &Graph,
    slot: Option<(&str, typeloom_contracts::role::Role)>,
    (domain, op): (Domain, &str),
    inputs: &[Input<'_>],
    (attributes, graphs): (Vec<AttributeProto>, Vec<GraphId>),
    outputs: usize,
    location: SourceLocation,
) -> Vec<ValueRef> {
    let mut values: Vec<Option<ValueId>> = Vec::with_capacity(inputs.len());
    let mut fine = true;
    let mut push = |value: &ValueRef| {
        let usable = usable(&graph.recorder, value, location);
        fine &= usable.is_some();
        values.push(usable);
    };
    for input in inputs {
        match input {
            Input::One(value) | Input::Maybe(Some(value)) => push(value),
            Input::Maybe(None) => {}
            Input::Many(values) => values.iter().for_each(|value| push(value)),
        }
    }
    if !fine {
        return (0..outputs).map(|_| graph.poison(location)).collect();
    }
    let inputs = with_gaps(inputs, values);
    let node = NewNode { domain, op, inputs, attributes, graphs, outputs, slot };
    let values = graph.recorder.borrow_mut().node(node, location);
    values.into_iter().map(|value| graph.value(value, location)).collect()
}

/// The inputs of a node, with `None` for an omitted optional one. Omitted inputs at the end are dropped.
fn with_gaps(inputs: &[Input<'_>], values: Vec<Option<ValueId>>) -> Vec<Option<ValueId>> {
    let mut values = values.into_iter();
    let mut all = Vec::with_capacity(inputs.len());
    for input in inputs {
        match input {
            Input::One(_) | Input::Maybe(Some(_)) => all.extend(values.next()),
            Input::Maybe(None) => all.push(None),
            Input::Many(many) => all.extend(values.by_ref().take(many.len())),
        }
    }
    while all.last().is_some_and(Option::is_none) {
        all.pop();
    }
    all
}

/// Declares the structure of an operator's optional attributes.
macro_rules! attribute_struct {
    ($op:literal ()) => {};
    ($op:literal ($attrs:ident { $($field:ident $name:literal: $ty:ty $(= $default:literal)?,)* })) => {
        #[doc = concat!("The optional attributes of `", $op, "`.")]
        #[derive(Clone, Debug, Default)]
        pub struct $attrs {
            $(
                #[doc = concat!("`", $name, "`" $(, "; ", $default, " where it is not given")?, ".")]
                pub $field: Option<$ty>,
            )*
        }

        impl $attrs {
            pub(super) fn append(self, attributes: &mut Vec<AttributeProto>) {
                let Self { $($field),* } = self;
                $(attributes.extend($field.map(|value| value.into_attribute($name)));)*
            }
        }
    };
}

/// Defines a method of [`OperatorMethods`].
macro_rules! operator_method {
    (
        $op:literal $since:literal [$($first:ident)?] ($($input:ident: $ity:ty),*)
        ($($required:ident $name:literal: $rty:ty),*) ($($attrs:ident $fields:tt)?)
        $method:ident($($count:ident)?) -> $out:ty, $n:expr
    ) => {
        #[doc = concat!("ONNX's `", $op, "`, as of operator set ", $since, ".")]
        #[track_caller]
        fn $method(
            &self $(, $first: &ValueRef)? $(, $input: $ity)* $(, $required: $rty)* $(, attrs: $attrs)?
            $(, $count: usize)?
        ) -> $out {
            #[allow(unused_mut, reason = "some operators have no attributes")]
            let mut attributes: Vec<AttributeProto> = vec![$($required.into_attribute($name)),*];
            $($attrs::append(attrs, &mut attributes);)?
            let inputs: &[Input<'_>] = &[$(Input::from($first),)? $(Input::from($input)),*];
            FromOutputs::from_outputs(self.record_operator($op, inputs, attributes, $n, SourceLocation::here()))
        }
    };
}

/// Defines a method of [`ValueRef`], if the first input of the operator is a single value.
macro_rules! value_method {
    ($op:literal $since:literal [] $($rest:tt)*) => {};
    (
        $op:literal $since:literal [$first:ident] ($($input:ident: $ity:ty),*)
        ($($required:ident $name:literal: $rty:ty),*) ($($attrs:ident $fields:tt)?)
        $method:ident($($count:ident)?) -> $out:ty, $n:expr
    ) => {
        #[doc = concat!("ONNX's `", $op, "` of this value, as of operator set ", $since, ".")]
        #[track_caller]
        pub fn $method(
            &self $(, $input: $ity)* $(, $required: $rty)* $(, attrs: $attrs)? $(, $count: usize)?
        ) -> $out {
            OperatorMethods::$method(
                &self.graph(), self $(, $input)* $(, $required)* $(, identity::<$attrs>(attrs))? $(, $count)?
            )
        }
    };
}

/// Defines the operators of a table. A line contains the operator with its version, its first input if that
/// is a single value, the other inputs, the required and the optional attributes, and the methods.
macro_rules! operators {
    ($(
        $op:literal $since:literal $first:tt $inputs:tt $required:tt $attrs:tt
        { $($method:ident $count:tt -> $out:ty, $n:expr);+ }
    )*) => {
        /// The optional attributes of the operators that have some.
        pub mod attributes {
            use super::*;

            $(attribute_struct!($op $attrs);)*
        }

        use attributes::*;

        /// ONNX's operators, recorded with all inputs as arguments.
        #[expect(clippy::too_many_arguments, reason = "operators have as many inputs as ONNX gives them")]
        pub trait OperatorMethods {
            /// Records a node of the default domain.
            fn record_operator(
                &self,
                op: &str,
                inputs: &[Input<'_>],
                attributes: Vec<AttributeProto>,
                outputs: usize,
                location: SourceLocation,
            ) -> Vec<ValueRef>;

            $($(operator_method!($op $since $first $inputs $required $attrs $method $count -> $out, $n);)+)*
        }

        #[expect(clippy::too_many_arguments, reason = "operators have as many inputs as ONNX gives them")]
        impl ValueRef {
            $($(value_method!($op $since $first $inputs $required $attrs $method $count -> $out, $n);)+)*
        }
    };
}

#[rustfmt::skip]
mod table;

pub use table::*;

impl OperatorMethods for Graph {
    fn record_operator(
        &self,
        op: &str,
        inputs: &[Input<'_>],
        attributes: Vec<AttributeProto>,
        outputs: usize,
        location: SourceLocation,
    ) -> Vec<ValueRef> {
        record(self, None, (Domain::Onnx, op), inputs, attributes, outputs, location)
    }
}

/// Returns the name of an operator's method.
#[must_use]
pub fn method_name(op: &str) -> String {
    match snake_case(op) {
        name if ["where", "mod", "if", "loop"].contains(&name.as_str()) => format!("{name}_"),
        name => name.replace("mat_mul", "matmul").replace("is_na_n", "is_nan"),
    }
}
