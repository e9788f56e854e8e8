//! Solved types in the form that ONNX's reference implementation writes.
//!
//! [`infer()`] returns the model that `onnx.shape_inference.infer_shapes` returns for it, as far as types are
//! concerned:
//!
//! | part of a graph | content |
//! |---|---|
//! | a declared output or value | completed: a missing element type, rank or extent, and a number in place of a symbol |
//! | any other value that a node defines | a new entry of `value_info`, in the order of nodes |
//! | an output without a type | the type, in addition to its entry of `value_info` |
//! | an input of a nested graph | completed |
//!
//! An extent is a number or one name. The reference has no expressions: each unknown extent of a value that a
//! node defines gets a name `unk__0`, `unk__1`, ... that no other extent has. Two extents that are proved
//! equal have the same name.
//!
//! Declarations count as true, as in the reference: types are those of [`Checked::type_of`], including
//! assumed ones. [`annotate`](crate::annotate) writes proved types instead.
//!
//! **Invariant:** all bytes that do not concern types are unchanged.

mod complete;
mod encode;
mod errors;
mod overflow;
mod weaker;
mod write;

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use smallvec::SmallVec;
use typeloom_dim::{DimId, Dims};
use typeloom_onnx::messages::tensor_shape_proto::dimension;
use typeloom_onnx::messages::{TensorShapeProto, TypeProto, ValueInfoProto, read, type_proto};
use typeloom_onnx::splice::Spliced;
use typeloom_onnx::view::ValueInfoView;
use typeloom_onnx::wire::Field;
use typeloom_solver::model::Checked;

use crate::annotate::AnnotateError;

/// Options of the reference's inference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InferenceOptions {
    /// Whether element types that an operator does not allow are reported.
    pub check_type: bool,
    /// Whether all other errors of inference are reported.
    pub strict_mode: bool,
    /// Whether computed values decide shapes.
    pub data_prop: bool,
    /// The form of unknown extents.
    pub unknown: UnknownExtents,
}

/// The form of unknown extents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UnknownExtents {
    /// They get generated names.
    #[default]
    Named,
    /// They have no value.
    Unset,
}

/// A model with inferred types.
#[derive(Clone, Debug)]
pub struct Inferred<'a> {
    /// The new file.
    pub file: Spliced<'a>,
    /// The texts of the errors that the options select.
    pub errors: Vec<String>,
    /// The operators that no catalogue has: domain and name.
    pub unknown: Vec<(String, String)>,
}

/// Writes the types of all values into the model that was checked.
///
/// # Errors
/// [`AnnotateError`].
pub fn infer<'a>(
    checked: &mut Checked<'a>,
    options: InferenceOptions,
) -> Result<Inferred<'a>, AnnotateError> {
    let unknown = checked.unknown_operators();
    let unknown = unknown.into_iter().map(|(domain, name)| (domain.to_owned(), name.to_owned())).collect();
    let errors = errors::errors(checked, options);
    let file = write::write(checked, options.unknown)?;
    Ok(Inferred { file, errors, unknown })
}

/// The declarations of values in one graph with their records, in the order of the file.
type Declarations<'a> = Vec<(Field<'a>, ValueInfoView<'a>)>;

/// Names of unknown extents.
#[derive(Default)]
struct Names<'a> {
    form: UnknownExtents,
    /// The declarations of each graph.
    declarations: SmallVec<[Declarations<'a>; 1]>,
    /// Created with the first generated name.
    generated: Option<Box<Generated>>,
}

/// Generated names.
struct Generated {
    /// The symbols in the declarations that begin as generated names do.
    taken: HashSet<String>,
    names: HashMap<DimId, String, RandomState>,
    /// The number of the next name.
    next: usize,
}

/// The start of generated names.
const PREFIX: &str = "unk__";

/// A generated name.
fn numbered(number: usize) -> String {
    format!("{PREFIX}{number}")
}

/// The symbols in declarations, if one may begin as generated names do. Malformed declarations have none.
fn taken(declarations: &[Declarations<'_>]) -> HashSet<String> {
    let holds_prefix = |bytes: &&[u8]| bytes.windows(PREFIX.len()).any(|window| window == PREFIX.as_bytes());
    let declared = declarations.iter().flatten().map(|(_, info)| info.bytes());
    let types = declared.filter(holds_prefix).filter_map(|bytes| {
        let info: ValueInfoProto = read(bytes::Bytes::copy_from_slice(bytes)).ok()?;
        info.r#type
    });
    types.flat_map(|ty| symbols(&ty)).collect()
}

impl Names<'_> {
    /// The name of an extent that is not a number.
    fn name<'n>(&'n mut self, dims: &'n Dims, dim: DimId) -> Option<&'n str> {
        match dims.as_symbol(dim) {
            Some(name) => Some(name),
            None => (self.form == UnknownExtents::Named).then(|| self.generated(dim)),
        }
    }

    fn generated(&mut self, dim: DimId) -> &str {
        let Self { declarations, generated, .. } = self;
        let Generated { taken, names, next } = &mut **generated.get_or_insert_with(|| {
            Box::new(Generated { taken: taken(declarations), names: HashMap::default(), next: 0 })
        });
        names.entry(dim).or_insert_with(|| {
            loop {
                let name = numbered(*next);
                *next += 1;
                if !taken.contains(&name) {
                    break name;
                }
            }
        })
    }
}

/// The symbols of a type.
fn symbols(ty: &TypeProto) -> Vec<String> {
    let (mut found, mut next) = (Vec::new(), Some(ty));
    while let Some(ty) = next.take() {
        let shape = match &ty.value {
            Some(type_proto::Value::TensorType(tensor)) => &tensor.shape,
            Some(type_proto::Value::SparseTensorType(tensor)) => &tensor.shape,
            Some(type_proto::Value::SequenceType(sequence)) => {
                next = sequence.elem_type.as_deref();
                continue;
            }
            Some(type_proto::Value::OptionalType(optional)) => {
                next = optional.elem_type.as_deref();
                continue;
            }
            Some(type_proto::Value::MapType(map)) => {
                next = map.value_type.as_deref();
                continue;
            }
            Some(type_proto::Value::OpaqueType(_)) | None => continue,
        };
        for dim in shape.iter().flat_map(|shape| &shape.dim) {
            if let Some(dimension::Value::DimParam(name)) = &dim.value {
                found.push(name.to_string());
            }
        }
    }
    found
}

/// Completes a declared type with an inferred one. Contradictory parts remain as declared.
fn merge(declared: &mut TypeProto, inferred: TypeProto) {
    use type_proto::Value::{MapType, OptionalType, SequenceType, SparseTensorType, TensorType};
    let inner = |declared: &mut Option<Box<TypeProto>>, inferred: Option<Box<TypeProto>>| {
        if let Some(inferred) = inferred {
            merge(declared.get_or_insert_default(), *inferred);
        }
    };
    match (&mut declared.value, inferred.value) {
        (_, None) => {}
        (value @ None, inferred) => *value = inferred,
        (Some(TensorType(declared)), Some(TensorType(inferred))) => {
            merge_tensor((&mut declared.elem_type, &mut declared.shape), inferred.elem_type, inferred.shape);
        }
        (Some(SparseTensorType(declared)), Some(SparseTensorType(inferred))) => {
            merge_tensor((&mut declared.elem_type, &mut declared.shape), inferred.elem_type, inferred.shape);
        }
        (Some(SequenceType(declared)), Some(SequenceType(inferred))) => {
            inner(&mut declared.elem_type, inferred.elem_type);
        }
        (Some(OptionalType(declared)), Some(OptionalType(inferred))) => {
            inner(&mut declared.elem_type, inferred.elem_type);
        }
        (Some(MapType(declared)), Some(MapType(inferred))) => {
            inner(&mut declared.value_type, inferred.value_type);
        }
        (Some(_), Some(_)) => {}
    }
}

fn merge_tensor(
    declared: (&mut Option<i32>, &mut Option<TensorShapeProto>),
    elem_type: Option<i32>,
    shape: Option<TensorShapeProto>,
) {
    let (declared_elem, declared_shape) = declared;
    if declared_elem.is_none_or(|number| number == 0) {
        *declared_elem = elem_type;
    }
    let Some(shape) = shape else { return };
    let Some(declared) = declared_shape else {
        *declared_shape = Some(shape);
        return;
    };
    if declared.dim.len() != shape.dim.len() {
        return;
    }
    for (declared, inferred) in declared.dim.iter_mut().zip(shape.dim) {
        let is_better = match (&declared.value, &inferred.value) {
            (None, _) => true,
            (Some(dimension::Value::DimParam(_)), Some(dimension::Value::DimValue(_))) => true,
            (Some(_), _) => false,
        };
        if is_better {
            declared.value = inferred.value;
        }
    }
}
