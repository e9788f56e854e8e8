//! Reading of contracts, and the projection of interfaces for the comparison with them.
//!
//! # Projection
//!
//! A contract states less than an interface. Before a comparison, [`Contract::project`] replaces the
//! interface of a model by the part that the format can express:
//!
//! - each extent without a number is a variable of its own: equal symbols and expressions are not stated;
//! - conditions are left out;
//! - in a format without optional inputs, a listed input is required;
//! - a tensor without axes has the dims of one element in Triton.
//!
//! Everything that is left out is returned as a note. Ports are compared by name, because serving systems
//! bind by name.
//!
//! **Invariant:** the projection of an interface on a contract that was written from it has no difference to
//! the contract.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use typeloom_dim::Dims;
use typeloom_interface::{Interface, Parameter};
use typeloom_solver::solution::{TensorType, Type};

use crate::error::ReadError;
use crate::signature::{Extent, Port, Side, Signature};
use crate::{Format, json, mlflow, oip, textproto, triton};

/// The maximum size of a contract that is read.
pub const MAX_BYTES: usize = 1 << 22;

/// The name of a single tensor to which a contract gives none. It is compared with the first one of the
/// model.
pub(crate) const UNNAMED: &str = "0";

/// A contract that was read.
#[derive(Clone, Debug)]
pub struct Contract {
    format: Format,
    name: Option<String>,
    signature: Signature,
    /// The lists with a single tensor without a name.
    unnamed: Vec<Side>,
    notes: Vec<String>,
}

/// The content of a contract before it is validated.
pub(crate) struct Draft {
    pub(crate) name: Option<String>,
    pub(crate) signature: Signature,
    pub(crate) unnamed: Vec<Side>,
    pub(crate) notes: Vec<String>,
}

/// The part of an interface that a contract can express.
#[derive(Clone, Debug)]
pub struct Projection {
    /// The part.
    pub interface: Interface,
    /// The facts that were left out, one per text.
    pub notes: Vec<String>,
}

impl Contract {
    /// The format of a file: by its name, or by its content. `None` for other files, such as models.
    ///
    /// Time: linear in the size, for texts; a binary file is recognised by its first bytes.
    #[must_use]
    pub fn format_of(bytes: &[u8], file: Option<&str>) -> Option<Format> {
        let file = file.and_then(|file| file.rsplit(['/', '\\']).next());
        if file.is_some_and(|file| file.ends_with(".pbtxt")) {
            return Some(Format::Triton);
        }
        if file == Some("MLmodel") {
            return Some(Format::Mlflow);
        }
        let text = text_of(bytes).ok()?;
        let start = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        match start.chars().next()? {
            '{' => match json::parse(text) {
                Ok(value) if mlflow::is_like(&value) => Some(Format::Mlflow),
                Ok(value) if oip::is_like(&value) => Some(Format::Oip),
                Ok(_) | Err(_) => None,
            },
            '#' | '[' | 'a'..='z'
                if textproto::parse(text).is_ok_and(|message| triton::is_like(&message)) =>
            {
                Some(Format::Triton)
            }
            _ if mlflow::is_model_file(text) => Some(Format::Mlflow),
            _ => None,
        }
    }

    /// Reads a contract; `file` is the name of the file, by which some formats are recognised.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read(bytes: &[u8], file: Option<&str>) -> Result<Self, ReadError> {
        let format = Self::format_of(bytes, file).ok_or(ReadError::Unknown)?;
        Self::read_as(format, bytes)
    }

    /// Reads a contract of a known format.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read_as(format: Format, bytes: &[u8]) -> Result<Self, ReadError> {
        let text = text_of(bytes)?;
        let Draft { name, signature, unnamed, notes } = match format {
            Format::Triton => triton::read(text)?,
            Format::Oip => oip::read(text)?,
            Format::Mlflow => mlflow::read(text)?,
            Format::JsonSchema | Format::OpenApi | Format::CHeader | Format::Rust | Format::Python => {
                return Err(ReadError::WriteOnly(format));
            }
        };
        if signature.inputs.is_empty() && signature.outputs.is_empty() {
            return Err(ReadError::NoPorts);
        }
        for list in [&signature.inputs, &signature.outputs] {
            let mut names = HashSet::new();
            if let Some(port) = list.iter().find(|port| !names.insert(port.name.as_str())) {
                return Err(ReadError::Duplicate(port.name.clone()));
            }
        }
        Ok(Self { format, name, signature, unnamed, notes })
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The name of the model, if the contract states it.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The stated facts as an interface.
    #[must_use]
    pub fn interface(&self) -> Interface {
        self.signature.to_interface()
    }

    /// The part of an interface that the contract can express.
    #[must_use]
    pub fn project(&self, interface: &Interface) -> Projection {
        let mut dims = Dims::new();
        let mut list = |parameters: &[Parameter], listed: &[Port], side| {
            let by_name: HashMap<&str, &Port> =
                listed.iter().map(|port| (port.name.as_str(), port)).collect();
            let is_unnamed = self.unnamed.contains(&side);
            let one = |(at, it): (usize, &Parameter)| {
                let mut it = it.clone();
                if is_unnamed && at == 0 {
                    UNNAMED.clone_into(&mut it.name);
                }
                let listed = by_name.get(it.name.as_str()).copied();
                self.parameter(interface, it, listed, side, &mut dims)
            };
            parameters.iter().enumerate().map(one).collect::<Vec<_>>()
        };
        let inputs = list(&interface.inputs, &self.signature.inputs, Side::Input);
        let outputs = list(&interface.outputs, &self.signature.outputs, Side::Output);
        let universe = Arc::clone(&interface.universe);
        let interface_part = Interface { inputs, outputs, conditions: Vec::new(), dims, universe };
        let mut notes = self.notes.clone();
        let relations = Signature::of(interface).map(|signature| signature.relations()).unwrap_or_default();
        notes.extend(
            relations.into_iter().map(|relation| format!("{} cannot express: {relation}", self.format)),
        );
        Projection { interface: interface_part, notes }
    }

    fn parameter(
        &self,
        interface: &Interface,
        mut parameter: Parameter,
        listed: Option<&Port>,
        side: Side,
        dims: &mut Dims,
    ) -> Parameter {
        if let (Side::Input, Some(listed), Format::Oip | Format::Mlflow) = (side, listed, self.format) {
            parameter.optional = listed.optional;
        }
        parameter.ty = self.ty(interface, &parameter.ty, listed, dims);
        parameter
    }

    /// A type with new variables in place of symbols. Types that are no dense tensors differ from every
    /// contract, so their extents do not matter.
    fn ty(&self, interface: &Interface, ty: &Type, listed: Option<&Port>, dims: &mut Dims) -> Type {
        let Type::Tensor(TensorType { elem, shape }) = ty else { return without_extents(ty) };
        let Some(shape) = shape else { return ty.clone() };
        let ones = listed.and_then(|port| port.shape.as_ref()).filter(|listed| {
            let is_one = !listed.is_empty() && listed.iter().all(|extent| *extent == Extent::Fixed(1));
            self.format == Format::Triton && shape.is_empty() && is_one
        });
        let extents = match ones {
            Some(ones) => ones.iter().map(|_| dims.constant(1)).collect(),
            None => {
                let free = |dim| Extent::of(&interface.dims, dim).without_symbols();
                shape.iter().map(|dim| free(*dim).to_dim(dims)).collect()
            }
        };
        Type::Tensor(TensorType { elem: *elem, shape: Some(extents) })
    }
}

/// A type whose tensors have unknown ranks. Types nest by a bounded number of levels.
fn without_extents(ty: &Type) -> Type {
    let unranked = |tensor: &TensorType| TensorType { elem: tensor.elem, shape: None };
    match ty {
        Type::Tensor(tensor) => Type::Tensor(unranked(tensor)),
        Type::Sparse(tensor) => Type::Sparse(unranked(tensor)),
        Type::Container(constructor, inner) => {
            Type::Container(*constructor, Box::new(without_extents(inner)))
        }
        Type::Composite(composite) => Type::Composite(composite.map(without_extents)),
        Type::Unknown(_) | Type::Scalar(_) | Type::Leaf(_) | Type::Error => ty.clone(),
    }
}

/// The text of a file within the limit.
fn text_of(bytes: &[u8]) -> Result<&str, ReadError> {
    if bytes.len() > MAX_BYTES {
        return Err(ReadError::TooLarge { length: bytes.len(), limit: MAX_BYTES });
    }
    std::str::from_utf8(bytes).map_err(|_| ReadError::NotUtf8)
}
