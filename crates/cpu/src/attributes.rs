//! Node attributes, decoded once when a node is prepared.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::{AttributeProto, TypeProto};
use typeloom_tensor::any_tensor::AnyTensor;

use crate::decode::{self, DecodeTensorError};
use crate::error::KernelErrorKind;

/// The value of an attribute. Graph attributes are handled by the runtime.
#[derive(Clone, Debug)]
pub enum Attribute {
    Float(f32),
    Int(i64),
    /// Bytes, usually UTF-8 text.
    Bytes(Vec<u8>),
    Tensor(AnyTensor),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Strings(Vec<Vec<u8>>),
    Type(Box<TypeProto>),
}

/// The attributes of a node by name, in a list: with few entries, a linear search is faster than a map.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    list: Vec<(Box<str>, Attribute)>,
    /// The form of the attributes that the node's kernel derives in its first run, see
    /// [`Attributes::derived`].
    derived: OnceLock<Result<Arc<dyn Any + Send + Sync>, KernelErrorKind>>,
}

/// Builds a function that returns the value of an attribute of one kind.
macro_rules! value_if {
    ($kind:ident($value:ident) => $read:expr) => {
        |attribute| if let Attribute::$kind($value) = attribute { Some($read) } else { None }
    };
}

impl Attributes {
    /// Decodes the attributes of a node. Skips graphs and attributes of unknown kind.
    ///
    /// # Errors
    /// [`DecodeTensorError`] if a tensor is malformed.
    pub fn decode(attributes: &[AttributeProto]) -> Result<Self, DecodeTensorError> {
        // A malformed file may contain very many attributes and repeat names.
        let mut decoded = BTreeMap::new();
        for attribute in attributes {
            if let Some(value) = value(attribute)? {
                decoded.insert(attribute.name(), value);
            }
        }
        let list = decoded.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Ok(Self { list, derived: OnceLock::new() })
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: Attribute) -> Self {
        match self.list.iter_mut().find(|(own, _)| **own == *name) {
            Some((_, old)) => *old = value,
            None => self.list.push((name.into(), value)),
        }
        self.derived = OnceLock::new();
        self
    }

    /// Looks up an attribute by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        self.list.iter().find(|(own, _)| **own == *name).map(|(_, value)| value)
    }

    /// The form of the attributes that `derive` computes, for example packed trees. It is computed once, in
    /// the first run of the node, and kept with the attributes.
    ///
    /// All callers for one node must derive the same type; otherwise the value is computed again in each
    /// call.
    pub(crate) fn derived<T: Send + Sync + 'static>(
        &self,
        derive: impl Fn(&Self) -> Result<T, KernelErrorKind>,
    ) -> Result<Arc<T>, KernelErrorKind> {
        let kept = self.derived.get_or_init(|| derive(self).map(|value| Arc::new(value) as _));
        match kept.clone()?.downcast::<T>() {
            Ok(value) => Ok(value),
            Err(_) => derive(self).map(Arc::new),
        }
    }

    /// Returns the value that `read` extracts from an attribute, or an error with the kind `wanted` if the
    /// attribute has another kind.
    fn read<'a, T>(
        &'a self,
        name: &str,
        wanted: &'static str,
        read: impl FnOnce(&'a Attribute) -> Option<T>,
    ) -> Result<Option<T>, KernelErrorKind> {
        let error = || KernelErrorKind::AttributeKind { name: name.to_owned(), wanted };
        self.get(name).map(|attribute| read(attribute).ok_or_else(error)).transpose()
    }

    pub(crate) fn int(&self, name: &str) -> Result<Option<i64>, KernelErrorKind> {
        self.read(name, "an integer", value_if!(Int(value) => *value))
    }

    pub(crate) fn float(&self, name: &str) -> Result<Option<f32>, KernelErrorKind> {
        self.read(name, "a float", value_if!(Float(value) => *value))
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, KernelErrorKind> {
        let bytes = self.read(name, "a string", value_if!(Bytes(value) => value))?;
        bytes.map(|bytes| utf8(name, bytes)).transpose()
    }

    pub(crate) fn ints(&self, name: &str) -> Result<Option<&[i64]>, KernelErrorKind> {
        self.read(name, "a list of integers", value_if!(Ints(values) => &values[..]))
    }

    pub(crate) fn floats(&self, name: &str) -> Result<Option<&[f32]>, KernelErrorKind> {
        self.read(name, "a list of floats", value_if!(Floats(values) => &values[..]))
    }

    pub(crate) fn texts(&self, name: &str) -> Result<Option<Vec<&str>>, KernelErrorKind> {
        let list = self.read(name, "a list of strings", value_if!(Strings(list) => list))?;
        list.map(|list| list.iter().map(|bytes| utf8(name, bytes)).collect()).transpose()
    }

    pub(crate) fn tensor(&self, name: &str) -> Result<Option<&AnyTensor>, KernelErrorKind> {
        self.read(name, "a tensor", value_if!(Tensor(tensor) => tensor))
    }
}

fn utf8<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, KernelErrorKind> {
    let error = |_| KernelErrorKind::AttributeKind { name: name.to_owned(), wanted: "valid UTF-8" };
    std::str::from_utf8(bytes).map_err(error)
}

fn value(attribute: &AttributeProto) -> Result<Option<Attribute>, DecodeTensorError> {
    Ok(match attribute.effective_type() {
        AttributeType::Float => Some(Attribute::Float(attribute.f())),
        AttributeType::Int => Some(Attribute::Int(attribute.i())),
        AttributeType::String => Some(Attribute::Bytes(attribute.s().to_vec())),
        AttributeType::Tensor => {
            attribute.t.as_deref().map(decode::tensor).transpose()?.map(Attribute::Tensor)
        }
        AttributeType::SparseTensor => {
            attribute.sparse_tensor.as_deref().map(decode::sparse).transpose()?.map(Attribute::Tensor)
        }
        AttributeType::Floats => Some(Attribute::Floats(attribute.floats.clone())),
        AttributeType::Ints => Some(Attribute::Ints(attribute.ints.clone())),
        AttributeType::Strings => {
            Some(Attribute::Strings(attribute.strings.iter().map(|bytes| bytes.to_vec()).collect()))
        }
        AttributeType::TypeProto => attribute.tp.clone().map(Attribute::Type),
        AttributeType::Undefined
        | AttributeType::Graph
        | AttributeType::Graphs
        | AttributeType::Tensors
        | AttributeType::SparseTensors
        | AttributeType::TypeProtos => None,
    })
}
