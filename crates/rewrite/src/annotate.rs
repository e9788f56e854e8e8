//! Solved types in a model file: written by [`annotate()`], removed by [`strip`].
//!
//! [`annotate()`] adds an entry to `value_info` for every value with a proved and undeclared type, in each graph in the
//! order of nodes, and completes declarations of inputs, outputs and values. The [splice writer](typeloom_onnx::splice)
//! copies all other bytes, so weights are neither read nor moved, and the cost depends on the size of the graph alone.
//!
//! Every added or changed entry has a tag in its `metadata_props`, under [`MARK`]: [`ADDED`], or [`FILLED`] and the old
//! record in hexadecimal. [`strip`] needs only the tags: neither the old file nor a log that other tools could invalidate.
//!
//! **Invariant:** only proved types are written: single element types, named extents, and in a function the types that
//! hold for every call in the model.
//!
//! **Invariant:** `strip(annotate(model)) = model`, byte for byte, where the lengths of messages are written in their
//! shortest form, as every known writer does; and `annotate(annotate(model)) = annotate(model)`.

mod strip;

use std::collections::{HashMap, HashSet};

use typeloom_onnx::DecodeError;
use typeloom_onnx::messages::{ModelProto, StringStringEntryProto, TypeProto, ValueInfoProto, read};
use typeloom_onnx::splice::{Records, Splice, SpliceError, Spliced};
use typeloom_onnx::view::{GraphView, ValueInfoView};
use typeloom_onnx::wire::{Field, WireValue};
use typeloom_solver::model::Checked;
use typeloom_solver::model::functions::FunctionTypes;
use typeloom_solver::program::{Body, BodySource, GraphId, Origin, StepId, ValueId};
use typeloom_solver::solution::Type;
use typeloom_solver::value_type::ValueType;

use crate::fields::{FUNCTION_VALUE_INFO, GRAPH_INPUT, GRAPH_OUTPUT, GRAPH_VALUE_INFO};

pub use strip::{Stripped, strip};

/// The metadata key of the tag.
pub const MARK: &str = "typeloom.annotation";
/// The tag of an added entry.
pub const ADDED: &str = "added";
/// The tag of a completed entry; the old record follows.
pub const FILLED: &str = "filled:";

/// The first version of the format with types of values in functions.
const FUNCTION_VALUES: i64 = 10;

/// Form of annotations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AnnotationForm {
    /// With tags, so that [`strip`] can remove them.
    #[default]
    Tagged,
    /// Without tags.
    Untagged,
    /// Without tags, and with all declarations replaced by proved types, except those of graph inputs.
    Solved,
}

/// An annotated model.
#[derive(Clone, Debug)]
pub struct Annotated<'a> {
    /// The new file.
    pub file: Spliced<'a>,
    /// The number of added entries.
    pub added: usize,
    /// The number of completed entries.
    pub filled: usize,
}

/// Error of [`annotate()`] and [`strip`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnnotateError {
    /// The bytes are malformed where no check reads them.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// The edits do not apply to the file.
    #[error(transparent)]
    Splice(#[from] SpliceError),
    /// The checked graph is not part of a model.
    #[error("a graph without a model around it has no file to write types into")]
    NoModel,
    /// The tag of an entry is not one that [`annotate()`] writes.
    #[error("the mark of the entry at byte {offset} does not say what the entry was before")]
    BadMark {
        /// The offset of the body of the entry.
        offset: usize,
    },
}

/// Writes the types of all values into the model that was checked.
///
/// # Errors
/// [`AnnotateError`].
pub fn annotate<'a>(checked: &mut Checked<'a>, form: AnnotationForm) -> Result<Annotated<'a>, AnnotateError> {
    let bytes = checked.model().ok_or(AnnotateError::NoModel)?.bytes();
    let mut writer = Writer { splice: Splice::new::<ModelProto>(bytes), form, added: 0, filled: 0 };
    let body = checked.body();
    let graphs = body.graph_views()?;
    let values: HashMap<(GraphId, &'a str), ValueId> =
        body.values().map(|value| ((body.value(value).graph, body.value_name(value)), value)).collect();
    for (graph, view) in graphs {
        writer.graph(checked, &values, graph, view)?;
    }
    // Older versions of the format have no field for them.
    if checked.model().is_some_and(|model| model.ir_version() >= FUNCTION_VALUES) {
        for function in checked.function_types() {
            writer.function(checked, &function)?;
        }
    }
    let Writer { splice, added, filled, .. } = writer;
    Ok(Annotated { file: splice.finish()?, added, filled })
}

struct Writer<'a> {
    splice: Splice<'a>,
    form: AnnotationForm,
    added: usize,
    filled: usize,
}

impl<'a> Writer<'a> {
    fn graph(
        &mut self,
        checked: &mut Checked<'a>,
        values: &HashMap<(GraphId, &'a str), ValueId>,
        graph: GraphId,
        view: GraphView<'a>,
    ) -> Result<(), AnnotateError> {
        let listed = checked.body().graph(graph);
        let (mut inputs, mut outputs) =
            (listed.inputs.clone().into_iter(), listed.outputs.clone().into_iter());
        let mut declared: HashSet<ValueId> = HashSet::new();
        for field in view.wire_fields() {
            let field = field?;
            let Some(info) = value_info(&field) else { continue };
            let value = match field.number {
                GRAPH_INPUT => inputs.next(),
                GRAPH_OUTPUT => outputs.next(),
                GRAPH_VALUE_INFO => values.get(&(graph, info.parse()?.name)).copied(),
                _ => continue,
            };
            if let Some(value) = value {
                declared.insert(value);
                self.fill(checked, view.offset(), &field, info, value)?;
            }
        }
        for value in made_in(checked.body(), graph) {
            // A name with two definitions refers to the last one.
            let name = checked.body().value_name(value);
            if declared.insert(value) && values.get(&(graph, name)) == Some(&value) {
                self.add(checked, view.offset(), value);
            }
        }
        Ok(())
    }

    /// Adds entries for the undeclared values of a function and of the graphs nested in it. Declarations in functions are
    /// not completed.
    fn function(&mut self, checked: &Checked<'a>, function: &FunctionTypes<'a>) -> Result<(), AnnotateError> {
        let body = &function.body;
        let mut lists = Vec::new();
        if let BodySource::Function(view) = body.source() {
            let declared =
                view.value_info().map(|info| Ok(info?.parse()?.name)).collect::<Result<_, DecodeError>>()?;
            lists.push((body.root(), view.offset(), FUNCTION_VALUE_INFO, declared));
        }
        for (graph, view) in body.graph_views()? {
            let infos = view.value_info().chain(view.outputs()).chain(view.inputs());
            let declared = infos.map(|info| Ok(info?.parse()?.name)).collect::<Result<_, DecodeError>>()?;
            lists.push((graph, view.offset(), GRAPH_VALUE_INFO, declared));
        }
        for (graph, message, field, mut declared) in lists {
            let declared: &mut HashSet<&str> = &mut declared;
            for value in made_in(body, graph) {
                let name = body.value_name(value);
                if declared.insert(name)
                    && let Some(ty) = message_of(checked, &function.types[value.index()])
                {
                    self.append(message, field, name, ty);
                }
            }
        }
        Ok(())
    }

    /// Completes a declaration.
    fn fill(
        &mut self,
        checked: &mut Checked<'a>,
        graph: usize,
        field: &Field<'a>,
        info: ValueInfoView<'a>,
        value: ValueId,
    ) -> Result<(), AnnotateError> {
        let ty = checked.proven_type_of(value);
        let body = checked.body();
        let is_input = body.value(value).graph == body.root()
            && matches!(body.value(value).origin, Origin::Input | Origin::InputWithDefault(_));
        if self.form == AnnotationForm::Solved && !is_input {
            return self.replace(checked, graph, field, info, &ty);
        }
        if message_of(checked, &ty).is_none() {
            return Ok(());
        }
        let old: ValueInfoProto = read(bytes::Bytes::copy_from_slice(info.bytes()))?;
        let mut new = old.clone();
        let ty = ValueType::of(&ty, checked.universe(), checked.dims());
        ty.fill(&mut new.r#type.get_or_insert_default().value);
        if new == old {
            return Ok(());
        }
        // A completed entry keeps the tag with its original record.
        let marked = new.metadata_props.iter().any(|entry| entry.key() == MARK);
        if self.form == AnnotationForm::Tagged && !marked {
            new.metadata_props.push(mark(format!("{FILLED}{}", to_hex(info.bytes()))));
        }
        self.splice.replace(graph, field, &Records::new().message(field.number, &new));
        self.filled += 1;
        Ok(())
    }

    /// Replaces the declared type by the proven one.
    fn replace(
        &mut self,
        checked: &Checked<'a>,
        graph: usize,
        field: &Field<'a>,
        info: ValueInfoView<'a>,
        ty: &Type,
    ) -> Result<(), AnnotateError> {
        let old: ValueInfoProto = read(bytes::Bytes::copy_from_slice(info.bytes()))?;
        // A solve proves no denotations.
        let denotation = old.r#type.as_ref().and_then(|ty| ty.denotation.clone());
        let mut ty = message_of(checked, ty);
        if let (Some(ty), Some(denotation)) = (&mut ty, denotation) {
            ty.denotation.get_or_insert(denotation);
        }
        let new = ValueInfoProto { r#type: ty, ..old.clone() };
        if new != old {
            self.splice.replace(graph, field, &Records::new().message(field.number, &new));
            self.filled += 1;
        }
        Ok(())
    }

    /// Adds an entry for a value that is not declared.
    fn add(&mut self, checked: &mut Checked<'a>, graph: usize, value: ValueId) {
        let ty = checked.proven_type_of(value);
        if let Some(ty) = message_of(checked, &ty) {
            self.append(graph, GRAPH_VALUE_INFO, checked.body().value_name(value), ty);
        }
    }

    fn append(&mut self, message: usize, field: u32, name: &str, ty: TypeProto) {
        let mut info =
            ValueInfoProto { name: Some(name.to_owned()), r#type: Some(ty), ..ValueInfoProto::default() };
        if self.form == AnnotationForm::Tagged {
            info.metadata_props.push(mark(ADDED.to_owned()));
        }
        self.splice.append(message, &Records::new().message(field, &info));
        self.added += 1;
    }
}

/// The type as ONNX writes it; `None` if ONNX cannot express it.
fn message_of(checked: &Checked<'_>, ty: &Type) -> Option<TypeProto> {
    ValueType::of(ty, checked.universe(), checked.dims()).to_onnx()
}

/// The values that the nodes of a graph define, in order.
fn made_in(body: &Body<'_>, graph: GraphId) -> Vec<ValueId> {
    let (from, to) = body.graph(graph).steps;
    (from..to)
        .map(StepId::new)
        .filter(|step| body.step(*step).graph == graph)
        .flat_map(|step| body.outputs(step).iter().flatten().copied())
        .filter(|value| matches!(body.value(*value).origin, Origin::Step(_)))
        .collect()
}

/// The view of a record with the name and type of a value.
fn value_info<'a>(field: &Field<'a>) -> Option<ValueInfoView<'a>> {
    match field.value {
        WireValue::Len(bytes, offset) => Some(ValueInfoView::from_body(bytes, offset)),
        WireValue::Varint(_) | WireValue::Fixed64(_) | WireValue::Fixed32(_) | WireValue::Group(..) => None,
    }
}

fn mark(value: String) -> StringStringEntryProto {
    StringStringEntryProto {
        key: Some(MARK.into()),
        value: Some(value.into()),
        ..StringStringEntryProto::default()
    }
}

fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}
