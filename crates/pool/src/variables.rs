//! Names of the variables of a bundle's roots.
//!
//! A type has no names of variables, so that alpha-equivalent schemes are one type. A bundle can contain the
//! names that its writer used, for display: `forall A. (Tensor<f32, [A]>) -> ...` with the name `batch` for
//! `A`.
//!
//! **Invariant:** names are hints. They are in no digest of a type, and two bundles that differ only in them
//! contain the same types.

use std::collections::HashSet;

use crate::name::{NameError, check_name};
use crate::pool::Pool;
use crate::tag::Tag;

/// Maximum length of the name of a variable in bytes.
pub const MAX_VARIABLE_NAME: usize = 256;

/// Error of the names of a root's variables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariableNamesError {
    /// The number of names is not that of the variables.
    #[error("there are {found} names for {expected} variables")]
    Count {
        /// The number of names.
        found: usize,
        /// The number of variables.
        expected: usize,
    },
    /// A name breaks the rules for names.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A name of more than [`MAX_VARIABLE_NAME`] bytes.
    #[error("a name of {len} bytes is longer than {MAX_VARIABLE_NAME}")]
    TooLong {
        /// Length in bytes.
        len: usize,
    },
    /// Two variables have one name.
    #[error("two variables have the name `{name}`")]
    Repeated {
        /// The repeated name.
        name: String,
    },
    /// A symbol in the bundle has the name of a variable.
    #[error("`{name}` is the name of a symbol too")]
    Symbol {
        /// The name.
        name: String,
    },
    /// No variable has a name, so the bundle must not have a list of names.
    #[error("no variable has a name")]
    Unnamed,
    /// A bundle that omits types.
    #[error("a bundle with imports has no names of variables")]
    Imports,
}

/// Checks one name; an empty one means that the variable has none.
///
/// # Errors
/// The name breaks the rules for names, or is longer than [`MAX_VARIABLE_NAME`].
pub fn check_variable_name(name: &str) -> Result<(), VariableNamesError> {
    match name.len() {
        0 => Ok(()),
        len if len > MAX_VARIABLE_NAME => Err(VariableNamesError::TooLong { len }),
        _ => Ok(check_name(name)?),
    }
}

/// Checks the names of the `expected` variables of a root.
pub(crate) fn check_names<'n>(
    names: impl ExactSizeIterator<Item = &'n str>,
    expected: usize,
    symbols: &HashSet<&str>,
) -> Result<(), VariableNamesError> {
    if names.len() != expected {
        return Err(VariableNamesError::Count { found: names.len(), expected });
    }
    let mut seen = HashSet::new();
    for name in names {
        check_variable_name(name)?;
        if !name.is_empty() && !seen.insert(name) {
            return Err(VariableNamesError::Repeated { name: name.to_owned() });
        }
        if symbols.contains(name) {
            return Err(VariableNamesError::Symbol { name: name.to_owned() });
        }
    }
    if seen.is_empty() { Err(VariableNamesError::Unnamed) } else { Ok(()) }
}

impl Pool {
    /// The number of variables of a scheme; 0 for other types.
    pub(crate) fn variable_count(&self, id: u32) -> usize {
        match self.nodes[id as usize].tag {
            Tag::Scheme => self.words(id).len() - 1,
            _ => 0,
        }
    }

    /// The names of the symbols among some types.
    pub(crate) fn symbol_names(&self, ids: impl Iterator<Item = u32>) -> HashSet<&str> {
        let symbols = ids.filter(|id| self.nodes[*id as usize].tag == Tag::DimSymbol);
        symbols.map(|id| self.names.get(self.words(id)[0])).collect()
    }
}
