//! Solved types in a model file: written by [`annotate()`], removed by [`strip`].
//!
//! Extents that the caller assumes are written into all declarations that name them, so that the types are
//! those of the written model.
//!
//! [`annotate()`] adds an entry to `value_info` for every value with a proved and undeclared type, in each
//! graph in the order of nodes, and completes declarations of inputs, outputs and values. The [splice
//! writer](typeloom_onnx::splice) copies all other bytes, so weights are neither read nor moved, and the cost
//! depends on the size of the graph alone.
//!
//! Every added or changed entry has a tag in its `metadata_props`, under [`MARK`]: [`ADDED`], or [`FILLED`]
//! and the old record in hexadecimal. [`strip`] needs only the tags: neither the old file nor a log that
//! other tools could invalidate.
//!
//! **Invariant:** only proved types are written: single element types, named extents, and in a function the
//! types that hold for every call in the model.
//!
//! **Invariant:** `strip(annotate(model)) = model`, byte for byte, if the lengths of messages are encoded in
//! their shortest form, as by every known writer; and `annotate(annotate(model)) = annotate(model)`.

mod strip;

use std::collections::{HashMap, HashSet};

use typeloom_onnx::DecodeError;
use typeloom_onnx::messages::{ModelProto, TypeProto, ValueInfoProto, metadata_entry, read};
use typeloom_onnx::splice::{Records, Splice, SpliceError, Spliced};
use typeloom_onnx::view::{GraphView, ValueInfoView};
use typeloom_onnx::wire::Field;
use typeloom_solver::model::Checked;
use typeloom_solver::model::functions::FunctionTypes;
use typeloom_solver::program::{Body, GraphId, Origin, StepId, ValueId};
use typeloom_solver::solution::Type;

use crate::coerce::layout::Source;
use crate::declared;
use crate::fields::{GRAPH_INPUT, GRAPH_OUTPUT, GRAPH_VALUE_INFO};

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
    /// The bytes are malformed in a part that checks do not read.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// The edits do not apply to the file.
    #[error(transparent)]
    Splice(#[from] SpliceError),
    /// The checked graph is not part of a model.
    #[error("a graph without a model around it has no file to write types into")]
    NoModel,
    /// The tag of an entry is not one that [`annotate()`] writes.
    #[error("the tag of the entry at byte {offset} does not contain its previous content")]
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
        for (field, info) in Source::Graph(view).declarations()? {
            let value = match field.number {
                GRAPH_INPUT => inputs.next(),
                GRAPH_OUTPUT => outputs.next(),
                _ => values.get(&(graph, info.parse()?.name)).copied(),
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

    /// Adds entries for the undeclared values of a function and of the graphs nested in it. Declarations in
    /// functions are not completed.
    fn function(&mut self, checked: &Checked<'a>, function: &FunctionTypes<'a>) -> Result<(), AnnotateError> {
        let body = &function.body;
        for (graph, source) in Source::of_body(body)? {
            let mut declared: HashSet<&str> = HashSet::new();
            for (_, info) in source.declarations()? {
                declared.insert(info.parse()?.name);
            }
            for value in made_in(body, graph) {
                let name = body.value_name(value);
                if declared.insert(name)
                    && let Some(ty) = message_of(checked, &function.types[value.index()])
                {
                    self.append(source.offset(), source.value_info_field(), name, ty);
                }
            }
        }
        Ok(())
    }

    /// Completes a declaration, or replaces its type by the proven one.
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
        let is_replaced = self.form == AnnotationForm::Solved && !is_input;
        let proved = message_of(checked, &ty);
        if proved.is_none() && !is_replaced {
            return Ok(());
        }
        let old: ValueInfoProto = read(bytes::Bytes::copy_from_slice(info.bytes()))?;
        let mut new = old.clone();
        if is_replaced {
            // A solve proves no denotations.
            let denotation = new.r#type.take().map(|ty| ty.denotation).unwrap_or_default();
            new.r#type = proved.map(|ty| match ty.denotation.is_some() {
                true => ty,
                false => TypeProto { denotation, ..ty },
            });
        } else {
            if let Some(ty) = &mut new.r#type {
                declared::assume(ty, declared::kind_of(field), checked);
            }
            let ty = ty.value_type(checked.universe(), checked.dims());
            ty.fill(&mut new.r#type.get_or_insert_default().value);
        }
        if new == old {
            return Ok(());
        }
        if self.form == AnnotationForm::Tagged {
            mark_filled(&mut new, info);
        }
        self.splice.replace(graph, field, Records::new().message(field.number, &new));
        self.filled += 1;
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
        let mut info = ValueInfoProto { name: name.into(), r#type: Some(ty), ..ValueInfoProto::default() };
        if self.form == AnnotationForm::Tagged {
            info.metadata_props.push(metadata_entry(MARK, ADDED));
        }
        self.splice.append(message, Records::new().message(field, &info));
        self.added += 1;
    }
}

/// Tags a changed entry with its original record. An entry that has a tag keeps it.
pub(crate) fn mark_filled(new: &mut ValueInfoProto, old: ValueInfoView<'_>) {
    if !new.metadata_props.iter().any(|entry| entry.key() == MARK) {
        new.metadata_props.push(metadata_entry(MARK, format!("{FILLED}{}", hex::encode(old.bytes()))));
    }
}

/// The type as ONNX writes it; `None` if ONNX cannot express it.
pub(crate) fn message_of(checked: &Checked<'_>, ty: &Type) -> Option<TypeProto> {
    ty.value_type(checked.universe(), checked.dims()).to_onnx()
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
