//! The PyTorch code that causes a condition on symbols, and its repair.
//!
//! An exporter records numbers where the author used Python numbers, and names axes as its arguments state. So
//! most conditions on symbols have one of few causes, which the equation of a node tells apart:
//!
//! | constant side of the equation | cause | repair |
//! |---|---|---|
//! | elements of an input, as the target of `Reshape` | `x.view(1, 7, -1)`, `int(x.shape[1])` | `x.shape[1]` |
//! | extent of a tensor that is broadcast or joined | a mask or a table of the example's size | slice it by `x.shape[1]` |
//! | extent of another tensor | the weight of a layer | the axis is not dynamic |
//!
//! **Limits:** the operator is that of the report. A number that a library of the author computes has the same
//! repair at another line.

use typeloom_dim::DimId;

use super::Scope;
use crate::catalogue::PyTorch;
use crate::program::ValueId;
use crate::rule::Extent;
use crate::solution::{Equation, EquationSource};
use crate::state::constants::Data;

/// The repair that gives two axes one symbol.
pub(super) const ONE_NAME: &str = "in PyTorch, one name in `dynamic_axes`, or one `Dim` in `dynamic_shapes`";

/// The repair that gives an axis a number.
pub(super) const NOT_DYNAMIC: &str = "in PyTorch, leave the axis out of `dynamic_axes` or `dynamic_shapes`";

/// The place of a constant in the equation of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Baked {
    /// Among the elements of an input.
    Element,
    /// The extent of an input that is combined element by element.
    Table,
    /// The extent of another input.
    Weight,
}

impl Scope<'_, '_> {
    /// The place of the constant in an equation, if it has one.
    pub(super) fn baked(&self, equation: &Equation) -> Option<Baked> {
        let EquationSource::Ports { left, right, relation } = equation.source else { return None };
        let place = |side: Extent| match side.axis {
            None => self.has_numbers(equation, side).then_some(Baked::Element),
            Some(_) => {
                self.core.dims.as_constant(side.dim)?;
                let is_table = relation.is_broadcast || self.pytorch(equation) == Some(PyTorch::Joined);
                Some(if is_table { Baked::Table } else { Baked::Weight })
            }
        };
        place(right).or_else(|| place(left)).or_else(|| self.has_target(equation).then_some(Baked::Element))
    }

    /// The PyTorch code that the node of an equation comes from.
    fn pytorch(&self, equation: &Equation) -> Option<PyTorch> {
        self.operators.pytorch(self.op(self.body().first_step(equation.step)))
    }

    /// Whether the node has numbers among the sizes that are its second input. With -1 among those of a
    /// `Reshape`, the extents of an equation are those of the data.
    fn has_target(&self, equation: &Equation) -> bool {
        let target = self.body().inputs(self.body().first_step(equation.step)).get(1).copied().flatten();
        matches!(self.pytorch(equation), Some(PyTorch::Sizes { .. }))
            && target.is_some_and(|target| self.is_of_numbers(target))
    }

    /// Whether an extent is computed from an input with known integers.
    fn has_numbers(&self, equation: &Equation, side: Extent) -> bool {
        self.value(equation.step, side.port).is_some_and(|value| self.is_of_numbers(value))
    }

    /// Whether a value has known integers among its elements.
    fn is_of_numbers(&self, value: ValueId) -> bool {
        let ints = self.core.data_of(self.frame, value).and_then(Data::as_ints);
        ints.is_some_and(|ints| ints.items.iter().any(|item| self.core.dims.as_constant(*item).is_some()))
    }

    /// The repair in the PyTorch code of a model with a constant, which follows "export the model without the
    /// constant"; empty if the cause is unknown.
    pub(super) fn without_constant(&mut self, equation: &Equation, symbol: Option<DimId>) -> String {
        let baked = if self.explains() { self.baked(equation) } else { None };
        let size = self.size(symbol);
        match baked {
            None | Some(Baked::Weight) => String::new(),
            Some(Baked::Table) => {
                format!(": in PyTorch, create or slice the tensor by `{size}`, as in `table[:{size}]`")
            }
            Some(Baked::Element) => {
                let function = match self.pytorch(equation) {
                    Some(PyTorch::Sizes { calls }) => format!(" in {calls}"),
                    Some(PyTorch::Joined) | None => String::new(),
                };
                format!(": in PyTorch, write `{size}`{function}, and neither a number nor `int({size})`")
            }
        }
    }

    /// The size of the axis that declares a symbol, in PyTorch: `x.shape[1]`.
    fn size(&mut self, symbol: Option<DimId>) -> String {
        let declared = symbol.and_then(|symbol| self.declared_at(|_, dim| dim == symbol));
        let name = declared.map(|(axis, input, _)| (self.body().value_name(input), axis));
        let is_identifier = |name: &str| {
            name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
                && name.starts_with(|letter: char| !letter.is_ascii_digit())
        };
        match name.filter(|(name, _)| is_identifier(name)) {
            Some((name, axis)) => format!("{name}.shape[{axis}]"),
            None => "x.shape[i]".to_owned(),
        }
    }
}
