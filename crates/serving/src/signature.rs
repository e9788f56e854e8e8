//! The common model of all formats: the inputs and outputs of a model as tensors.
//!
//! [`Signature::of`] reads an interface, [`Signature::to_interface`] makes one of a contract that was read.
//!
//! **Invariant:** a signature from [`Signature::of`] has no two inputs, and no two outputs, of one name, and
//! no tensor of more than [`MAX_RANK`] axes. So a format can use the names as keys, and recursion over axes
//! is bounded.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use typeloom_dim::{DimId, Dims};
use typeloom_interface::{Interface, Parameter};
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::solution::{TensorType, Type};
use typeloom_solver::universe::Universe;
use typeloom_types::dtype::Dtype;

use crate::Format;
use crate::error::{ContractError, Reason};

/// The maximum number of axes, as in NumPy.
pub const MAX_RANK: usize = 64;

/// The inputs and outputs of a model as tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The inputs in order.
    pub inputs: Vec<Port>,
    /// The outputs in order.
    pub outputs: Vec<Port>,
    /// The conditions on symbols as text. No format states them.
    pub conditions: Vec<String>,
}

/// An input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The name that callers use.
    pub name: String,
    /// The element type.
    pub element: Dtype,
    /// The extents; `None` if the rank is unknown.
    pub shape: Option<Vec<Extent>>,
    /// Whether a caller may omit it.
    pub optional: bool,
}

/// The extent of one axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// A number.
    Fixed(u64),
    /// A symbol: equal names are equal extents.
    Symbol(String),
    /// A number that depends on symbols.
    Expression {
        /// The expression.
        text: String,
        /// Its symbols.
        symbols: Vec<String>,
    },
    /// Any number.
    Free,
}

/// The list of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The inputs.
    Input,
    /// The outputs.
    Output,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Output => "output",
        })
    }
}

impl Signature {
    /// The signature of an interface.
    ///
    /// # Errors
    /// [`ContractError`] for an input or output that is not a dense tensor of one known element type of ONNX,
    /// that has too many axes, or whose name occurs twice.
    pub fn of(interface: &Interface) -> Result<Self, ContractError> {
        let list = |parameters: &[Parameter], side| -> Result<Vec<Port>, ContractError> {
            let mut names = HashSet::new();
            let mut ports = Vec::with_capacity(parameters.len());
            for parameter in parameters {
                let error = |reason| ContractError::Port { side, port: parameter.name.clone(), reason };
                if !names.insert(parameter.name.as_str()) {
                    return Err(error(Reason::Duplicate));
                }
                ports.push(Port::of(interface, parameter).map_err(error)?);
            }
            Ok(ports)
        };
        Ok(Self {
            inputs: list(&interface.inputs, Side::Input)?,
            outputs: list(&interface.outputs, Side::Output)?,
            conditions: interface.shown_conditions(),
        })
    }

    /// The interface with these inputs and outputs. Each extent without a number or symbol is a variable of
    /// its own.
    #[must_use]
    pub fn to_interface(&self) -> Interface {
        let mut dims = Dims::new();
        let mut list = |ports: &[Port]| ports.iter().map(|port| port.to_parameter(&mut dims)).collect();
        let (inputs, outputs) = (list(&self.inputs), list(&self.outputs));
        Interface {
            inputs,
            outputs,
            conditions: Vec::new(),
            dims,
            universe: Arc::clone(Universe::standard()),
        }
    }

    /// All inputs, then all outputs.
    pub fn ports(&self) -> impl Iterator<Item = (Side, &Port)> {
        let inputs = self.inputs.iter().map(|port| (Side::Input, port));
        inputs.chain(self.outputs.iter().map(|port| (Side::Output, port)))
    }

    /// Converts the ports of a side; an error gets the name of the port.
    pub(crate) fn convert<T>(
        &self,
        side: Side,
        mut one: impl FnMut(&Port) -> Result<T, Reason>,
    ) -> Result<Vec<T>, ContractError> {
        let ports = self.ports().filter(|(of, _)| *of == side);
        let named = |port: &Port, reason| ContractError::Port { side, port: port.name.clone(), reason };
        ports.map(|(_, port)| one(port).map_err(|reason| named(port, reason))).collect()
    }

    /// The symbols that are the whole extent of an axis, in the order of their first use.
    #[must_use]
    pub fn symbols(&self) -> Vec<&str> {
        let mut known = HashSet::new();
        let extents = self.ports().flat_map(|(_, port)| port.extents());
        extents.filter_map(Extent::symbol).filter(|symbol| known.insert(*symbol)).collect()
    }

    /// The extents that are no independent numbers: symbols in several axes, and then expressions, each in the
    /// order of the first use. Axes have the paths of [`typeloom_interface::compare`], such as
    /// `inputs.x.shape[0]`.
    #[must_use]
    pub fn related_extents(&self) -> Vec<RelatedExtent> {
        let (mut symbols, mut expressions) = (Vec::new(), Vec::new());
        let mut known: HashMap<&Extent, usize> = HashMap::new();
        for (side, port) in self.ports() {
            for (axis, extent) in port.extents().iter().enumerate() {
                let found: &mut Vec<RelatedExtent> = match extent {
                    Extent::Symbol(_) => &mut symbols,
                    Extent::Expression { .. } => &mut expressions,
                    Extent::Fixed(_) | Extent::Free => continue,
                };
                let at = *known.entry(extent).or_insert_with(|| {
                    found.push(RelatedExtent { text: extent.to_string(), axes: Vec::new() });
                    found.len() - 1
                });
                found[at].axes.push(format!("{side}s.{}.shape[{axis}]", port.name));
            }
        }
        symbols.retain(|symbol| symbol.axes.len() > 1);
        symbols.append(&mut expressions);
        symbols
    }

    /// The relations between extents, and the conditions on them, that no list of tensors expresses, one per
    /// short text: not all axes are named.
    #[must_use]
    pub fn relations(&self) -> Vec<String> {
        let mut relations: Vec<String> =
            self.related_extents().iter().map(RelatedExtent::to_string).collect();
        relations.extend(self.conditions.iter().map(|condition| format!("the model needs {condition}")));
        relations
    }

    /// The axes of each related extent as a JSON object; `None` if there are none.
    pub(crate) fn extents_object(&self) -> Option<Value> {
        let extents = self.related_extents();
        if extents.is_empty() {
            return None;
        }
        Some(extents.into_iter().map(|it| (it.text, Value::from(it.axes))).collect())
    }
}

/// A symbol or an expression, and the axes whose extent it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelatedExtent {
    /// The symbol or the expression.
    pub text: String,
    /// The paths of the axes.
    pub axes: Vec<String>,
}

/// Maximum number of axes in the text of a [`RelatedExtent`].
const MAX_AXES: usize = 3;

/// `batch: the same number in 10 axes (inputs.x.shape[0], ...)`, or `outputs.y.shape[0] is 2*N`.
impl fmt::Display for RelatedExtent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, axes } = self;
        if let [axis] = &axes[..] {
            return write!(f, "{axis} is {text}");
        }
        let shown = if axes.len() <= MAX_AXES { &axes[..] } else { &axes[..MAX_AXES] };
        write!(f, "{text}: the same number in {} axes ({}", axes.len(), shown.join(", "))?;
        match axes.len() - shown.len() {
            0 => f.write_str(")"),
            hidden => write!(f, " and {hidden} more)"),
        }
    }
}

impl Port {
    fn of(interface: &Interface, parameter: &Parameter) -> Result<Self, Reason> {
        let Type::Tensor(TensorType { elem, shape }) = &parameter.ty else {
            return Err(Reason::NotATensor { ty: interface.show(&parameter.ty) });
        };
        let element = elem.single().and_then(Elem::dtype);
        let element = element.ok_or_else(|| Reason::Element { ty: interface.show(&parameter.ty) })?;
        let shape = match shape {
            Some(shape) if shape.len() > MAX_RANK => return Err(Reason::TooManyAxes { rank: shape.len() }),
            Some(shape) => Some(shape.iter().map(|dim| Extent::of(&interface.dims, *dim)).collect()),
            None => None,
        };
        Ok(Self { name: parameter.name.clone(), element, shape, optional: parameter.optional })
    }

    fn to_parameter(&self, dims: &mut Dims) -> Parameter {
        let shape = self.shape.as_ref().map(|shape| shape.iter().map(|extent| extent.to_dim(dims)).collect());
        let ty = Type::Tensor(TensorType { elem: ElemSet::of(Elem::of(self.element)), shape });
        Parameter { name: self.name.clone(), ty, optional: self.optional, assumed: false }
    }

    /// The extents; none if the rank is unknown.
    #[must_use]
    pub fn extents(&self) -> &[Extent] {
        self.shape.as_deref().unwrap_or_default()
    }

    /// The name and the extents, for a format that needs both.
    pub(crate) fn named_shape(&self, format: Format) -> Result<(&str, &[Extent]), Reason> {
        if self.name.is_empty() {
            return Err(Reason::NoName { format });
        }
        let shape = self.shape.as_deref().ok_or(Reason::Unranked { format })?;
        Ok((&self.name, shape))
    }

    /// The name of the element type in the table of a format.
    pub(crate) fn element_in(
        &self,
        table: &[(Dtype, &'static str)],
        format: Format,
    ) -> Result<&'static str, Reason> {
        let known = table.iter().find(|(dtype, _)| *dtype == self.element);
        known.map(|(_, name)| *name).ok_or(Reason::Unsupported { element: self.element.onnx_name(), format })
    }

    /// The number of elements, if every extent is a number and the product is not too large.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        let mut fixed = self.shape.as_ref()?.iter().map(Extent::fixed);
        fixed.try_fold(1_u64, |count, extent| count.checked_mul(extent?))
    }
}

/// The type in the syntax of ONNX: `float[N, 4]`.
impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.element.onnx_name())?;
        match &self.shape {
            None => f.write_str("[...]"),
            Some(shape) if shape.is_empty() => Ok(()),
            Some(shape) => {
                let shown: Vec<String> = shape.iter().map(Extent::to_string).collect();
                write!(f, "[{}]", shown.join(", "))
            }
        }
    }
}

impl Extent {
    pub(crate) fn of(dims: &Dims, dim: DimId) -> Self {
        if let Some(value) = dims.as_constant(dim) {
            return u64::try_from(value).map_or(Self::Free, Self::Fixed);
        }
        if let Some(symbol) = dims.as_symbol(dim) {
            return Self::Symbol(symbol.to_owned());
        }
        if dims.is_anonymous(dim) {
            return Self::Free;
        }
        let named = dims
            .symbols_of(dim)
            .iter()
            .filter_map(|symbol| dims.as_symbol(*symbol))
            .map(str::to_owned)
            .collect();
        Self::Expression { text: dims.display(dim).to_string(), symbols: named }
    }

    /// The dim in an arena; one without a number or symbol is a new variable.
    pub(crate) fn to_dim(&self, dims: &mut Dims) -> DimId {
        match self {
            Self::Fixed(value) => match i64::try_from(*value) {
                Ok(value) => dims.constant(value),
                Err(_) => dims.fresh(),
            },
            Self::Symbol(symbol) => dims.symbol(symbol),
            Self::Expression { .. } | Self::Free => dims.fresh(),
        }
    }

    /// The part of the extent that a format without symbols expresses.
    pub(crate) fn without_symbols(self) -> Self {
        match self {
            Self::Fixed(_) => self,
            Self::Symbol(_) | Self::Expression { .. } | Self::Free => Self::Free,
        }
    }

    /// The number.
    #[must_use]
    pub fn fixed(&self) -> Option<u64> {
        match self {
            Self::Fixed(value) => Some(*value),
            Self::Symbol(_) | Self::Expression { .. } | Self::Free => None,
        }
    }

    /// The name of the symbol.
    #[must_use]
    pub fn symbol(&self) -> Option<&str> {
        match self {
            Self::Symbol(symbol) => Some(symbol),
            Self::Fixed(_) | Self::Expression { .. } | Self::Free => None,
        }
    }

    /// Whether the extent depends on a symbol.
    #[must_use]
    pub fn depends_on(&self, wanted: &str) -> bool {
        match self {
            Self::Symbol(symbol) => symbol == wanted,
            Self::Expression { symbols, .. } => symbols.iter().any(|symbol| symbol == wanted),
            Self::Fixed(_) | Self::Free => false,
        }
    }

    /// The number, or -1 as in formats that have no symbols.
    #[must_use]
    pub fn or_minus_one(&self) -> i64 {
        self.fixed().and_then(|value| i64::try_from(value).ok()).unwrap_or(-1)
    }
}

/// The extent in the syntax of ONNX, `?` for any number.
impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(value) => write!(f, "{value}"),
            Self::Symbol(text) | Self::Expression { text, .. } => f.write_str(text),
            Self::Free => f.write_str("?"),
        }
    }
}
