//! Solved types as the runtime uses them, and values held against them.
//!
//! Symbols are bound by the first extent that they stand for, and hold from then on; expressions over bound
//! symbols are computed. Inside nested graphs symbols can be bound anew each time the graph runs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use smallvec::SmallVec;
use typeloom_cpu::value::Value;
use typeloom_onnx::messages::tensor_shape_proto::dimension;
use typeloom_onnx::messages::{TypeProto, type_proto};
use typeloom_solver::dim::{Dims, is_placeholder};
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

/// How a value differs from the type that was proved for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found} is not {proved}")]
pub struct Mismatch {
    /// What the value is.
    pub found: String,
    /// What was proved, with what is known of its symbols.
    pub proved: String,
}

/// One extent of a solved type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Nothing is known.
    Open,
    /// A number.
    Known(usize),
    /// A symbol.
    Symbol(Arc<str>),
    /// An expression over symbols.
    Expression(Arc<str>),
}

/// A solved type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stamp {
    /// Nothing that can be held against a value.
    #[default]
    Open,
    /// A tensor.
    Tensor {
        /// The element type.
        dtype: Option<Dtype>,
        /// The shape; absent where the rank is not known.
        shape: Option<Vec<Extent>>,
    },
    /// A sequence.
    Sequence(Box<Stamp>),
    /// A value that may be missing.
    Optional(Box<Stamp>),
}

impl Stamp {
    /// The type that a message says.
    #[must_use]
    pub fn of(ty: &TypeProto) -> Self {
        Self::nested(ty, 0)
    }

    fn nested(ty: &TypeProto, depth: usize) -> Self {
        let inner = |inner: &Option<Box<TypeProto>>| {
            inner.as_deref().filter(|_| depth < 32).map_or(Self::Open, |it| Self::nested(it, depth + 1))
        };
        match &ty.value {
            Some(type_proto::Value::TensorType(tensor)) => {
                let dtype = tensor.elem_type.and_then(Dtype::from_onnx_number);
                let extents = tensor.shape.as_ref().map(|shape| {
                    shape.dim.iter().map(|dim| match &dim.value {
                        Some(dimension::Value::DimValue(value)) => {
                            usize::try_from(*value).map_or(Extent::Open, Extent::Known)
                        }
                        Some(dimension::Value::DimParam(text))
                            if !text.trim().is_empty() && !is_placeholder(text) =>
                        {
                            let kept = text.as_str().into();
                            if Symbols::is_symbol(text) {
                                Extent::Symbol(kept)
                            } else {
                                Extent::Expression(kept)
                            }
                        }
                        Some(dimension::Value::DimParam(_)) | None => Extent::Open,
                    })
                });
                Self::Tensor { dtype, shape: extents.map(Iterator::collect) }
            }
            Some(type_proto::Value::SequenceType(sequence)) => {
                Self::Sequence(Box::new(inner(&sequence.elem_type)))
            }
            Some(type_proto::Value::OptionalType(optional)) => {
                Self::Optional(Box::new(inner(&optional.elem_type)))
            }
            Some(type_proto::Value::MapType(_) | type_proto::Value::SparseTensorType(_)) => Self::Open,
            Some(type_proto::Value::OpaqueType(_)) | None => Self::Open,
        }
    }
}

impl std::fmt::Display for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Open => f.write_str("?"),
            Self::Tensor { dtype, shape } => {
                f.write_str(dtype.map_or("tensor", Dtype::onnx_name))?;
                let Some(shape) = shape else { return f.write_str("[]") };
                if shape.is_empty() {
                    return Ok(());
                }
                let extent = |extent: &Extent| match extent {
                    Extent::Open => "?".to_owned(),
                    Extent::Known(value) => value.to_string(),
                    Extent::Symbol(text) | Extent::Expression(text) => text.to_string(),
                };
                write!(f, "[{}]", shape.iter().map(extent).collect::<Vec<_>>().join(", "))
            }
            Self::Sequence(inner) => write!(f, "seq({inner})"),
            Self::Optional(inner) => write!(f, "optional({inner})"),
        }
    }
}

/// A tensor's own type in words, as models are written: `float` is of rank 0.
pub(crate) fn describe_tensor(tensor: &AnyTensor) -> String {
    let extents = tensor.shape().iter().map(|extent| Extent::Known(*extent)).collect();
    Stamp::Tensor { dtype: Some(tensor.dtype()), shape: Some(extents) }.to_string()
}

/// A value's own type in words.
#[must_use]
pub fn describe(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => describe_tensor(tensor),
        Value::Sequence(values) => {
            let first =
                values.first().map_or_else(String::new, |first| format!(" of {}, ...", describe(first)));
            format!("a sequence of {}{first}", values.len())
        }
        Value::Optional(None) => "nothing".to_owned(),
        Value::Optional(Some(inner)) => format!("optional({})", describe(inner)),
    }
}

/// What symbols stand for in one run.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// By name, in order: they are few, and every run of a graph inside starts with a copy.
    values: SmallVec<[(Arc<str>, usize); 3]>,
    /// Those beyond [`MAX_FEW`], which a file from outside can have; shared by the copies until one binds more.
    more: Option<Arc<BTreeMap<Arc<str>, usize>>>,
}

/// How many symbols are kept in a list.
const MAX_FEW: usize = 64;

impl Symbols {
    /// What a symbol stands for, where that is known.
    #[must_use]
    pub fn get(&self, symbol: &str) -> Option<usize> {
        // There can be many in a file from outside, and mostly there are two or three.
        if let [(own, extent)] = &self.values[..] {
            // Values of one type have their symbols from one place.
            return (std::ptr::eq(&**own, symbol) || **own == *symbol).then_some(*extent);
        }
        match self.values.binary_search_by(|(own, _)| (**own).cmp(symbol)) {
            Ok(at) => Some(self.values[at].1),
            Err(_) => self.more.as_ref().and_then(|more| more.get(symbol)).copied(),
        }
    }

    /// Lets a symbol stand for an extent, unless it stands for one already.
    pub fn bind(&mut self, symbol: &str, extent: usize) {
        if self.get(symbol).is_none() {
            self.insert(symbol.into(), extent);
        }
    }

    fn insert(&mut self, symbol: Arc<str>, extent: usize) {
        if self.values.len() < MAX_FEW {
            let at = self.values.partition_point(|(own, _)| **own < *symbol);
            self.values.insert(at, (symbol, extent));
        } else {
            Arc::make_mut(self.more.get_or_insert_default()).insert(symbol, extent);
        }
    }

    /// Whether a symbol stands for an extent, or can from now on.
    fn stands_for(&mut self, symbol: &Arc<str>, extent: usize) -> bool {
        match self.get(symbol) {
            Some(own) => own == extent,
            None => {
                self.insert(Arc::clone(symbol), extent);
                true
            }
        }
    }

    /// The symbols that stand for something, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, usize)> {
        let more = self.more.iter().flat_map(|more| more.iter());
        let few = self.values.iter().map(|(name, value)| (name, value));
        let mut all: Vec<(&str, usize)> = few.chain(more).map(|(name, value)| (&**name, *value)).collect();
        all.sort_unstable();
        all.into_iter()
    }

    /// The value of an expression, where all of its symbols are bound.
    #[must_use]
    pub fn evaluate(&self, text: &str) -> Option<usize> {
        if let Some(value) = self.get(text) {
            return Some(value);
        }
        let mut dims = Dims::new();
        let dim = dims.parse(text).ok()?;
        let mut known = Vec::new();
        for symbol in dims.symbols_of(dim) {
            let value = self.get(dims.as_symbol(symbol)?)?;
            known.push((symbol, dims.constant(i64::try_from(value).ok()?)));
        }
        let value = dims.substitute(dim, &known);
        dims.as_constant(value).and_then(|value| usize::try_from(value).ok())
    }

    /// The symbols of an extent that stand for nothing yet.
    #[must_use]
    pub fn unbound(&self, text: &str) -> Vec<String> {
        if self.evaluate(text).is_some() {
            return Vec::new();
        }
        let mut dims = Dims::new();
        let Ok(dim) = dims.parse(text) else { return vec![text.to_owned()] };
        let symbols = dims.symbols_of(dim);
        let names = symbols.iter().filter_map(|symbol| dims.as_symbol(*symbol));
        names.filter(|name| self.get(name).is_none()).map(str::to_owned).collect()
    }

    /// Whether a text is one symbol and nothing more.
    #[must_use]
    pub fn is_symbol(text: &str) -> bool {
        let mut dims = Dims::new();
        dims.parse(text).is_ok_and(|dim| dims.as_symbol(dim).is_some())
    }

    /// Holds a value against a solved type, and binds what symbols it can.
    ///
    /// # Errors
    /// [`Mismatch`] where they contradict each other.
    pub fn check(&mut self, value: &Value, stamp: &Stamp) -> Result<(), Mismatch> {
        let fits = match (value, stamp) {
            (_, Stamp::Open) | (Value::Optional(None), Stamp::Optional(_)) => true,
            (Value::Tensor(tensor), Stamp::Tensor { dtype, shape }) => {
                dtype.is_none_or(|dtype| dtype == tensor.dtype())
                    && shape.as_ref().is_none_or(|shape| self.fits(tensor.shape(), shape))
            }
            (Value::Sequence(values), Stamp::Sequence(inner)) => {
                for value in values {
                    // A symbol in the type of an element is an extent of that element alone.
                    Self::default().check(value, inner)?;
                }
                true
            }
            (Value::Optional(Some(held)), Stamp::Optional(inner)) => return self.check(held, inner),
            // An optional that holds something can be passed as what it holds.
            (Value::Tensor(_) | Value::Sequence(_), Stamp::Optional(inner)) => {
                return self.check(value, inner);
            }
            (Value::Tensor(_) | Value::Sequence(_) | Value::Optional(_), _) => false,
        };
        if fits { Ok(()) } else { Err(Mismatch { found: describe(value), proved: self.words(stamp) }) }
    }

    fn fits(&mut self, extents: &[usize], shape: &[Extent]) -> bool {
        if extents.len() != shape.len() {
            return false;
        }
        // Symbols first, so that expressions over them can be computed whatever the order of the axes.
        let plain = |(extent, proved): (&usize, &Extent)| match proved {
            Extent::Open | Extent::Expression(_) => true,
            Extent::Known(known) => known == extent,
            Extent::Symbol(text) => self.stands_for(text, *extent),
        };
        // All of them, whatever does not fit: what is said of it tells what they stand for.
        if extents.iter().zip(shape).map(plain).filter(|fits| !fits).count() > 0 {
            return false;
        }
        extents.iter().zip(shape).all(|(extent, proved)| match proved {
            Extent::Open | Extent::Known(_) | Extent::Symbol(_) => true,
            Extent::Expression(text) => self.evaluate(text).is_none_or(|value| value == *extent),
        })
    }

    /// A type, with what is known of its symbols.
    fn words(&self, stamp: &Stamp) -> String {
        let mut known = HashMap::new();
        if let Stamp::Tensor { shape: Some(shape), .. } = stamp {
            for extent in shape {
                if let Extent::Symbol(text) | Extent::Expression(text) = extent
                    && let Some(value) = self.evaluate(text)
                {
                    known.insert(Arc::clone(text), value);
                }
            }
        }
        let mut notes: Vec<String> = known.iter().map(|(text, value)| format!("{text} = {value}")).collect();
        notes.sort();
        if notes.is_empty() { stamp.to_string() } else { format!("{stamp}, where {}", notes.join(", ")) }
    }
}
