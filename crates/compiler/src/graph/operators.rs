//! Every operator of ONNX's default domain as a method.
//!
//! [`OperatorMethods`] has them with all inputs as arguments; a [`Graph`] implements it, and so does the placeholder of
//! a backend, whose nodes run on its slot. Operators whose first input is one value are methods of that
//! [`Value`] as well: `x.conv(&w, None, ConvAttrs { group: Some(2), ..Default::default() })`.
//!
//! Inputs come first (an optional one as an `Option`, a variadic one as a slice), then attributes that a node
//! must give, then the other attributes as a structure in which nothing is set. The methods give the outputs that
//! a node must have; `.._all` gives the optional ones as well.
//!
//! **Invariant:** the two lists in `methods` and `attributes` are generated from the operator table; a test
//! fails where they differ from it, and writes them anew under `TYPELOOM_BLESS=1`. Operators with nested graphs are
//! in [`control`](super::control).

use typeloom_onnx::messages::{AttributeProto, TensorProto, TypeProto};
use typeloom_types::dtype::Dtype;

use super::attributes::IntoAttribute;
use super::recorder::NewNode;
use super::value::{Value, usable};
use super::{Graph, recorder};
use crate::place::Place;

#[rustfmt::skip]
mod attributes;
#[rustfmt::skip]
mod methods;

/// An input of a node as a method takes it.
#[derive(Clone, Copy, Debug)]
pub enum Input<'v> {
    /// One value.
    One(&'v Value),
    /// An optional input.
    Maybe(Option<&'v Value>),
    /// A variadic input.
    Many(&'v [&'v Value]),
}

impl<'v> From<&'v Value> for Input<'v> {
    fn from(value: &'v Value) -> Self {
        Self::One(value)
    }
}

impl<'v> From<Option<&'v Value>> for Input<'v> {
    fn from(value: Option<&'v Value>) -> Self {
        Self::Maybe(value)
    }
}

impl<'v> From<&'v [&'v Value]> for Input<'v> {
    fn from(values: &'v [&'v Value]) -> Self {
        Self::Many(values)
    }
}

/// The outputs of a node as a method gives them.
pub trait FromOutputs {
    /// Out of as many values as the method asked for.
    fn from_outputs(values: Vec<Value>) -> Self;
}

impl FromOutputs for Vec<Value> {
    fn from_outputs(values: Vec<Value>) -> Self {
        values
    }
}

impl<const N: usize> FromOutputs for [Value; N] {
    fn from_outputs(values: Vec<Value>) -> Self {
        Self::try_from(values).expect("a node has the outputs that it was recorded with")
    }
}

impl FromOutputs for Value {
    fn from_outputs(values: Vec<Value>) -> Self {
        let [value] = FromOutputs::from_outputs(values);
        value
    }
}

/// Records a node in the innermost open graph of a recording.
pub(crate) fn record(
    graph: &Graph,
    slot: Option<(&str, typeloom_contracts::role::Role)>,
    (domain, op): (&str, &str),
    inputs: &[Input<'_>],
    attributes: Vec<AttributeProto>,
    outputs: usize,
    place: Place,
) -> Vec<Value> {
    let mut names: Vec<String> = Vec::with_capacity(inputs.len());
    let mut fine = true;
    let mut push = |value: &Value| match usable(&graph.recorder, value, place) {
        Some(name) => names.push(name),
        None => fine = false,
    };
    for input in inputs {
        match input {
            Input::One(value) | Input::Maybe(Some(value)) => push(value),
            Input::Maybe(None) => {}
            Input::Many(values) => values.iter().for_each(|value| push(value)),
        }
    }
    if !fine {
        return (0..outputs).map(|_| graph.poison(place)).collect();
    }
    let inputs = with_gaps(inputs, names);
    let node = NewNode { domain, op, inputs, attributes, outputs, slot };
    let names = graph.recorder.borrow_mut().node(node, place);
    names.into_iter().map(|name| graph.value(name, place)).collect()
}

/// Puts empty names where optional inputs are left out, but for those at the end.
fn with_gaps(inputs: &[Input<'_>], names: Vec<String>) -> Vec<String> {
    let mut names = names.into_iter();
    let mut all = Vec::with_capacity(inputs.len());
    for input in inputs {
        match input {
            Input::One(_) | Input::Maybe(Some(_)) => all.extend(names.next()),
            Input::Maybe(None) => all.push(String::new()),
            Input::Many(values) => all.extend(names.by_ref().take(values.len())),
        }
    }
    while all.last().is_some_and(String::is_empty) {
        all.pop();
    }
    all
}

macro_rules! attribute_structs {
    ($($attrs:ident of $op:literal { $($field:ident $name:literal: $ty:ty $(= $default:literal)?,)* })*) => {
        $(
            #[doc = concat!("The optional attributes of `", $op, "`.")]
            #[derive(Clone, Debug, Default)]
            pub struct $attrs {
                $(
                    #[doc = concat!("`", $name, "`" $(, "; ", $default, " where it is not given")?, ".")]
                    pub $field: Option<$ty>,
                )*
            }

            impl $attrs {
                pub(crate) fn append(self, attributes: &mut Vec<AttributeProto>) {
                    let Self { $($field),* } = self;
                    $(attributes.extend($field.map(|value| value.into_attribute($name)));)*
                }
            }
        )*
    };
}
use attribute_structs;

macro_rules! operator_methods {
    (
        methods { $(
            $op:literal $since:literal $name:ident
            [$first:ident] ($($input:ident: $ity:ty),*) ($($req:ident $rname:literal: $rty:ty),*)
            ($($attrs:ident: $aty:ident)?) $(with $count:ident)? -> $out:ty, $n:expr;
        )* }
        free { $(
            $fop:literal $fsince:literal $fname:ident
            ($($finput:ident: $fity:ty),*) ($($freq:ident $frname:literal: $frty:ty),*)
            ($($fattrs:ident: $faty:ident)?) $(with $fcount:ident)? -> $fout:ty, $fn:expr;
        )* }
    ) => {
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
                place: Place,
            ) -> Vec<Value>;

            $(
                #[doc = concat!("ONNX's `", $op, "`, as of operator set ", $since, ".")]
                #[track_caller]
                fn $name(
                    &self, $first: &Value $(, $input: $ity)* $(, $req: $rty)* $(, $attrs: $aty)? $(, $count: usize)?
                ) -> $out {
                    #[allow(unused_mut, reason = "some operators have no attributes")]
                    let mut attributes: Vec<AttributeProto> = vec![$($req.into_attribute($rname)),*];
                    $($attrs.append(&mut attributes);)?
                    let inputs = [Input::from($first) $(, Input::from($input))*];
                    FromOutputs::from_outputs(self.record_operator($op, &inputs, attributes, $n, Place::here()))
                }
            )*
            $(
                #[doc = concat!("ONNX's `", $fop, "`, as of operator set ", $fsince, ".")]
                #[track_caller]
                fn $fname(
                    &self $(, $finput: $fity)* $(, $freq: $frty)* $(, $fattrs: $faty)? $(, $fcount: usize)?
                ) -> $fout {
                    #[allow(unused_mut, reason = "some operators have no attributes")]
                    let mut attributes: Vec<AttributeProto> = vec![$($freq.into_attribute($frname)),*];
                    $($fattrs.append(&mut attributes);)?
                    let inputs: &[Input<'_>] = &[$(Input::from($finput)),*];
                    FromOutputs::from_outputs(self.record_operator($fop, inputs, attributes, $fn, Place::here()))
                }
            )*
        }

        #[expect(clippy::too_many_arguments, reason = "operators have as many inputs as ONNX gives them")]
        impl Value {
            $(
                #[doc = concat!("ONNX's `", $op, "` of this value, as of operator set ", $since, ".")]
                #[track_caller]
                pub fn $name(
                    &self $(, $input: $ity)* $(, $req: $rty)* $(, $attrs: $aty)? $(, $count: usize)?
                ) -> $out {
                    OperatorMethods::$name(&self.graph(), self $(, $input)* $(, $req)* $(, $attrs)? $(, $count)?)
                }
            )*
        }
    };
}
use operator_methods;

pub use attributes::*;
pub use methods::OperatorMethods;

impl OperatorMethods for Graph {
    fn record_operator(
        &self,
        op: &str,
        inputs: &[Input<'_>],
        attributes: Vec<AttributeProto>,
        outputs: usize,
        place: Place,
    ) -> Vec<Value> {
        record(self, None, ("", op), inputs, attributes, outputs, place)
    }
}

/// How the method of an operator is named.
#[must_use]
pub fn method_name(op: &str) -> String {
    match recorder::snake(op) {
        name if ["where", "mod", "if", "loop"].contains(&name.as_str()) => format!("{name}_"),
        name => name.replace("mat_mul", "matmul"),
    }
}
