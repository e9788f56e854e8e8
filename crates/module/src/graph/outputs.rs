//! Results of calls, by position and by name.

use std::ops::{Deref, Index};

use typeloom_types::plural::counted;

use super::value::ValueRef;
use crate::authoring::AuthoringErrorKind;
use crate::location::SourceLocation;

/// The results of a call or of a separated bundle.
///
/// A result is named (`outputs["scores"]`), counted (`outputs[0]`), or one of an array of all of them
/// ([`Outputs::array`]). A name or number without a result is an error of the recording, not a panic. An
/// `Outputs` derefs to the slice of its values.
///
/// ```
/// use typeloom_module::graph::Graph;
/// use typeloom_module::module::{Module, record};
///
/// struct Pair;
///
/// impl Module for Pair {
///     fn name(&self) -> &str {
///         "pair"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let x = g.input("x");
///         g.output("negated", x.neg());
///         g.output("positive", x.abs());
///     }
/// }
///
/// struct Caller;
///
/// impl Module for Caller {
///     fn name(&self) -> &str {
///         "caller"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let x = g.input("x").of("float[N]");
///         let called = g.call(&Pair, &[&x]);
///         let [negated, _] = g.call(&Pair, &[&x]).array();
///         g.output("y", &negated + &called["positive"]);
///         g.output("z", &called["other"]);
///     }
/// }
///
/// let errors = record(&Caller).unwrap_err();
/// let message = "result `other` is used, but `pair` has 2 results: `negated`, `positive`";
/// assert_eq!((errors.len(), errors[0].kind.to_string()), (1, message.to_owned()));
/// ```
#[derive(Debug)]
pub struct Outputs {
    /// The module, function or bundle.
    owner: String,
    names: Vec<String>,
    values: Vec<ValueRef>,
    /// The value of a result that does not exist.
    poison: ValueRef,
    /// Whether the call itself is an error, so that a missing result is none.
    is_failed: bool,
}

impl Outputs {
    /// The results of `owner`, with names in their order.
    pub(crate) fn new(owner: &str, names: Vec<String>, values: Vec<ValueRef>, poison: ValueRef) -> Self {
        Self { owner: owner.to_owned(), names, values, poison, is_failed: false }
    }

    /// The results of a call with an error, which has been recorded, as far as they are known.
    pub(crate) fn failed(owner: &str, names: Vec<String>, poison: ValueRef) -> Self {
        let values = vec![poison.clone(); names.len()];
        Self { is_failed: true, ..Self::new(owner, names, values, poison) }
    }

    /// All results in order: `let [ids, distances] = g.call(&nearest, &[&query]).array();`.
    #[track_caller]
    #[must_use]
    pub fn array<const N: usize>(self) -> [ValueRef; N] {
        if self.values.len() != N {
            let verb = if N == 1 { "is" } else { "are" };
            self.missing(format!("{} {verb} taken", counted(N, "result")), SourceLocation::here());
        }
        let mut values = self.values.into_iter();
        std::array::from_fn(|_| values.next().unwrap_or_else(|| self.poison.clone()))
    }

    /// Takes a result out of the list. The later ones move up; names keep their results.
    #[track_caller]
    pub fn remove(&mut self, at: usize) -> ValueRef {
        let value = self[at].clone();
        if at < self.values.len() {
            self.values.remove(at);
            self.names.remove(at);
        }
        value
    }

    /// Records that a result does not exist.
    fn missing(&self, asked: String, location: SourceLocation) {
        if self.is_failed {
            return;
        }
        let known = self.names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let kind = AuthoringErrorKind::UnknownOutput {
            owner: self.owner.clone(),
            asked,
            count: self.values.len(),
            known,
        };
        self.poison.recorder.borrow_mut().error(kind, location);
    }
}

impl Index<usize> for Outputs {
    type Output = ValueRef;

    #[track_caller]
    fn index(&self, at: usize) -> &ValueRef {
        let location = SourceLocation::here();
        self.values.get(at).unwrap_or_else(|| {
            self.missing(format!("result {at} is used"), location);
            &self.poison
        })
    }
}

impl Index<&str> for Outputs {
    type Output = ValueRef;

    #[track_caller]
    fn index(&self, name: &str) -> &ValueRef {
        let location = SourceLocation::here();
        let at = self.names.iter().position(|known| known == name);
        at.and_then(|at| self.values.get(at)).unwrap_or_else(|| {
            self.missing(format!("result `{name}` is used"), location);
            &self.poison
        })
    }
}

impl Deref for Outputs {
    type Target = [ValueRef];

    fn deref(&self) -> &[ValueRef] {
        &self.values
    }
}

impl From<Outputs> for Vec<ValueRef> {
    fn from(outputs: Outputs) -> Self {
        outputs.values
    }
}

impl IntoIterator for Outputs {
    type Item = ValueRef;
    type IntoIter = std::vec::IntoIter<ValueRef>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter()
    }
}
