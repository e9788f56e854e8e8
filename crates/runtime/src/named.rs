//! Values of the inputs of a run, by name.
//!
//! A list of pairs is enough: `session.run([("x", tensor)], Verify::Inputs)`. Numbers that are written in the
//! program have no element type yet; [`inputs!`](crate::inputs!) gives them the type of their input.
//!
//! ```
//! use typeloom_runtime::inputs;
//! use typeloom_runtime::named::Inputs;
//! use typeloom_tensor::any_tensor::AnyTensor;
//!
//! let image = AnyTensor::from_slice(&[1, 2], &[0.5_f32, 1.5])?;
//! let inputs: Inputs = inputs! { "image" => image, "scale" => [[1.0, 2.0]], "steps" => 3 };
//! # let _ = inputs;
//! # Ok::<(), typeloom_tensor::any_tensor::error::TensorError>(())
//! ```

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use typeloom_solver::diagnostic::text::{list, suggestion};
use typeloom_tensor::datum::Datum;
use typeloom_types::suggest::nearest;

use crate::literal::{Literal, LiteralError};
use crate::session::Port;

/// Values of inputs by name. Made from a map, an array or a list of pairs, or by [`inputs!`](crate::inputs!).
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    values: HashMap<String, Datum>,
    /// Numbers that get the element type of their input.
    literals: BTreeMap<String, Literal>,
}

impl Inputs {
    /// Adds a value. A later value of one name replaces an earlier one.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Datum>) -> Self {
        let name = name.into();
        self.literals.remove(&name);
        self.values.insert(name, value.into());
        self
    }

    /// Adds numbers, bools or texts, which become a value of the type of the input.
    #[doc(hidden)]
    #[must_use]
    pub fn with_literal(mut self, name: impl Into<String>, literal: Literal) -> Self {
        let name = name.into();
        self.values.remove(&name);
        self.literals.insert(name, literal);
        self
    }

    /// Takes the value of a port.
    pub(crate) fn take(&mut self, port: &Port) -> Result<Option<Datum>, LiteralError> {
        let Some(literal) = self.literals.remove(&port.name) else {
            return Ok(self.values.remove(&port.name));
        };
        literal.value(&port.ty).map(Some)
    }

    /// The first name that none of the ports has.
    pub(crate) fn unknown(&self, ports: &[Port]) -> Option<UnknownName> {
        let names = self.values.keys().chain(self.literals.keys());
        let name = names.filter(|name| ports.iter().all(|port| port.name != **name)).min()?;
        Some(UnknownName::of(name, ports))
    }
}

/// A name that no input has: `` no input `xx`; it has `x` and `y`; did you mean `x`? ``.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// The name.
    pub name: String,
    /// The names of the inputs.
    pub known: Vec<String>,
}

impl UnknownName {
    /// The name next to those of the inputs.
    #[must_use]
    pub fn of(name: &str, ports: &[Port]) -> Self {
        Self { name: name.to_owned(), known: ports.iter().map(|port| port.name.clone()).collect() }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, known } = self;
        let quoted: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        let others = if known.is_empty() { "no others".to_owned() } else { list(&quoted, "and") };
        let verb = if known.is_empty() { ", and" } else { "; it has" };
        let near = nearest(name, known.iter().map(String::as_str));
        write!(f, "no input `{name}`{verb} {others}{}", suggestion(&near))
    }
}

// Not generic over values, so that a map of `value.into()` needs no annotation.
impl From<HashMap<String, Datum>> for Inputs {
    fn from(values: HashMap<String, Datum>) -> Self {
        Self { values, literals: BTreeMap::new() }
    }
}

impl<K: Into<String>, V: Into<Datum>, const N: usize> From<[(K, V); N]> for Inputs {
    fn from(values: [(K, V); N]) -> Self {
        values.into_iter().collect()
    }
}

impl<K: Into<String>, V: Into<Datum>> From<Vec<(K, V)>> for Inputs {
    fn from(values: Vec<(K, V)>) -> Self {
        values.into_iter().collect()
    }
}

impl<K: Into<String>, V: Into<Datum>> FromIterator<(K, V)> for Inputs {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(values: I) -> Self {
        let values = values.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { values, literals: BTreeMap::new() }
    }
}

/// The values of the inputs of a run, by name: `inputs! { "x" => [1.0, 2.0], "mask" => tensor }`.
///
/// A literal, or a list or matrix of literals, gets the element type of its input, as a literal in Rust gets
/// its type from the context; texts are also names of peers. A number that the type does not contain is an error of the run, except that
/// floats are rounded. Any other expression is a value of its own type; an expression in parentheses is never
/// a literal.
#[macro_export]
macro_rules! inputs {
    (@add $inputs:expr;) => { $inputs };
    (@add $inputs:expr; $name:expr => [$([$($x:literal),* $(,)?]),+ $(,)?] $(, $($rest:tt)*)?) => {
        $crate::inputs!(@add $inputs.with_literal($name, $crate::literal::Literal::matrix(
            [$(::std::vec![$($crate::literal::Scalar::from($x)),*]),+]
        )); $($($rest)*)?)
    };
    (@add $inputs:expr; $name:expr => [$($x:literal),* $(,)?] $(, $($rest:tt)*)?) => {
        $crate::inputs!(@add $inputs.with_literal($name, $crate::literal::Literal::list(
            ::std::vec![$($crate::literal::Scalar::from($x)),*]
        )); $($($rest)*)?)
    };
    (@add $inputs:expr; $name:expr => $x:literal $(, $($rest:tt)*)?) => {
        $crate::inputs!(@add $inputs.with_literal($name, $crate::literal::Literal::scalar(
            $crate::literal::Scalar::from($x)
        )); $($($rest)*)?)
    };
    (@add $inputs:expr; $name:expr => $value:expr $(, $($rest:tt)*)?) => {
        $crate::inputs!(@add $inputs.with($name, $value); $($($rest)*)?)
    };
    ($($all:tt)*) => { $crate::inputs!(@add $crate::named::Inputs::default(); $($all)*) };
}
