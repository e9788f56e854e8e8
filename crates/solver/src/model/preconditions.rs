//! Conditions of a checked model as data that a runtime evaluates before a run.
//!
//! The equations keep the form in which operators need them. The simplified form of reports assumes extents
//! of at least 1, but a run may have an empty tensor.

use std::collections::HashMap;

use typeloom_dim::{Condition, DimId, Dims, symbols_of};

use crate::model::Checked;
use crate::solution::EquationSource;

/// Conditions on named symbols.
#[derive(Clone, Default)]
pub struct Preconditions {
    dims: Dims,
    conditions: Vec<Condition>,
}

impl std::fmt::Debug for Preconditions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown =
            self.conditions.iter().map(|condition| self.dims.display_condition(*condition).to_string());
        f.debug_list().entries(shown).finish()
    }
}

impl Preconditions {
    /// The conditions of the operators of a checked model on the symbols of its inputs.
    #[must_use]
    pub fn of_checked(checked: &Checked<'_>) -> Self {
        let (mut own, from) = (Self::default(), checked.dims());
        let mut leaves: HashMap<DimId, DimId> = HashMap::new();
        for requirement in checked.requirements() {
            let equation = requirement.equation;
            if matches!(equation.source, EquationSource::Declared(_))
                || [equation.left, equation.right].iter().any(|dim| from.is_anonymous(*dim))
            {
                continue;
            }
            let condition = equation.condition().map(|dim| {
                own.dims.copy_from(from, dim, &mut |dims, leaf| {
                    let name = from.as_symbol(leaf).unwrap_or_default();
                    *leaves.entry(leaf).or_insert_with(|| dims.symbol(name))
                })
            });
            if !own.conditions.contains(&condition) {
                own.conditions.push(condition);
            }
        }
        own
    }

    /// The first condition that is violated by the extents of symbols, as text. `extent` returns the extent
    /// of a symbol by name.
    ///
    /// A condition on a symbol without an extent is not evaluated.
    pub fn violated(&self, extent: impl Fn(&str) -> Option<usize>) -> Option<String> {
        self.conditions.iter().find_map(|condition| {
            let symbols = symbols_of(&self.dims, *condition);
            let value = |symbol: &DimId| {
                let extent = extent(self.dims.as_symbol(*symbol)?)?;
                Some((*symbol, i64::try_from(extent).ok()?))
            };
            let values: Vec<(DimId, i64)> = symbols.iter().map(value).collect::<Option<_>>()?;
            let is_violated = self.dims.holds(*condition, &values) == Some(false);
            is_violated.then(|| self.dims.display_condition(*condition).to_string())
        })
    }
}
