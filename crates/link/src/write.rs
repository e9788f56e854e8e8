//! The file of the result.
//!
//! Protobuf merges messages by concatenation, so the graph of the result is the records of both graphs, one
//! field after the other, each field first from the first model. A record that does not change is a range of
//! its file; of a stored tensor that changes, only the name or the location is written anew. So the result is
//! a list of pieces, and payloads are neither read nor copied.
//!
//! The skeleton is the same model without large payloads. It is what is checked.

use std::ops::Range;

use typeloom_onnx::messages::{
    ModelProto, OnnxMessage, SparseTensorProto, TensorProto, metadata_entry, tensor_proto,
};
use typeloom_onnx::splice::{Part, Records, Splice, SpliceError, put_header};
use typeloom_onnx::view::{EntryView, SparseTensorView, TensorView};
use typeloom_onnx::wire::WireValue;
use typeloom_solver::rule::MAX_ELEMENTS;
use typeloom_types::dtype::Dtype;

use crate::fields;
use crate::rename::Renamer;
use crate::source::{Source, Stored, StoredForm};

/// A piece of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A range of one of the linked files.
    Old {
        /// The position of the file in the list of models.
        model: usize,
        /// The bytes.
        range: Range<usize>,
    },
    /// New bytes.
    New(Vec<u8>),
}

/// Payloads up to this size are in the skeleton: they can contain integers that decide shapes.
const MAX_KEPT: usize = 16 * MAX_ELEMENTS;

/// A file under construction, with its skeleton.
#[derive(Default)]
pub(crate) struct Writer {
    pub(crate) pieces: Vec<Piece>,
    length: usize,
    pub(crate) skeleton: Vec<u8>,
}

impl Writer {
    /// Appends a range of a file.
    pub(crate) fn old(&mut self, model: usize, source: &Source<'_>, range: Range<usize>) {
        self.skeleton.extend_from_slice(&source.bytes[range.clone()]);
        self.old_only(model, range);
    }

    fn old_only(&mut self, model: usize, range: Range<usize>) {
        self.length += range.len();
        match self.pieces.last_mut() {
            Some(Piece::Old { model: last, range: before })
                if *last == model && before.end == range.start =>
            {
                before.end = range.end;
            }
            Some(_) | None => self.pieces.push(Piece::Old { model, range }),
        }
    }

    /// Appends new bytes.
    pub(crate) fn new_bytes(&mut self, bytes: &[u8]) {
        self.skeleton.extend_from_slice(bytes);
        self.new_only(bytes);
    }

    fn new_only(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        match self.pieces.last_mut() {
            Some(Piece::New(last)) => last.extend_from_slice(bytes),
            Some(_) | None => self.pieces.push(Piece::New(bytes.to_vec())),
        }
    }

    /// Appends a message as a record.
    pub(crate) fn message(&mut self, number: u32, message: &impl OnnxMessage) {
        self.new_bytes(Records::new().message(number, message).as_wire());
    }

    /// Appends all fields of a message.
    pub(crate) fn fields(&mut self, message: &impl OnnxMessage) {
        self.new_bytes(&message.encode_to_vec());
    }

    /// Appends another file as a record.
    pub(crate) fn nested(&mut self, number: u32, inner: Self) {
        let mut header = Vec::new();
        put_header(number, inner.length, &mut header);
        self.new_only(&header);
        self.length += inner.length;
        self.pieces.extend(inner.pieces);
        header.clear();
        put_header(number, inner.skeleton.len(), &mut header);
        self.skeleton.extend_from_slice(&header);
        self.skeleton.extend_from_slice(&inner.skeleton);
    }

    /// Appends a stored tensor under its name in the result.
    pub(crate) fn stored(
        &mut self,
        model: usize,
        source: &Source<'_>,
        stored: &Stored,
        renamer: &Renamer<'_>,
    ) -> Result<(), SpliceError> {
        let number = match stored.form {
            StoredForm::Dense => fields::GRAPH_INITIALIZER,
            StoredForm::Sparse => fields::GRAPH_SPARSE_INITIALIZER,
        };
        let body = &source.bytes[stored.body.clone()];
        let parts = match stored.form {
            StoredForm::Dense => {
                let mut splice = Splice::new::<TensorProto>(body);
                let name = Some(renamer.main(&stored.name));
                edit(&mut splice, TensorView::from_body(body, 0), name, renamer)?;
                splice.finish()?.into_parts(body)
            }
            StoredForm::Sparse => {
                let mut splice = Splice::new::<SparseTensorProto>(body);
                let sparse = SparseTensorView::from_body(body, 0).parse()?;
                for (tensor, name) in
                    [(sparse.values, Some(renamer.main(&stored.name))), (sparse.indices, None)]
                {
                    if let Some(tensor) = tensor {
                        edit(&mut splice, tensor, name, renamer)?;
                    }
                }
                splice.finish()?.into_parts(body)
            }
        };
        let is_unchanged = matches!(&parts[..], [Part::Old(range)] if range.len() == body.len());
        let skeleton = skeleton(stored, body, renamer)?;
        if is_unchanged && skeleton.is_none() {
            self.old(model, source, stored.old.clone());
            return Ok(());
        }
        if is_unchanged {
            self.old_only(model, stored.old.clone());
        } else {
            let length = parts.iter().map(|part| part.bytes(body).len()).sum();
            let mut header = Vec::new();
            put_header(number, length, &mut header);
            self.new_only(&header);
            for part in &parts {
                match part {
                    Part::Old(range) => {
                        let start = stored.body.start;
                        self.old_only(model, start + range.start..start + range.end);
                    }
                    Part::New(bytes) => self.new_only(bytes),
                }
            }
        }
        match skeleton {
            Some(tensor) => {
                self.skeleton.extend_from_slice(Records::new().message(number, &tensor).as_wire());
            }
            None => {
                let whole: Vec<u8> = parts.iter().flat_map(|part| part.bytes(body)).copied().collect();
                self.skeleton.extend_from_slice(Records::new().bytes(number, whole).as_wire());
            }
        }
        Ok(())
    }
}

/// Adds the edits of one tensor: its name and the locations of its data.
fn edit(
    splice: &mut Splice<'_>,
    tensor: TensorView<'_>,
    name: Option<&str>,
    renamer: &Renamer<'_>,
) -> Result<(), SpliceError> {
    for field in tensor.wire_fields() {
        let field = field?;
        let WireValue::Len(bytes, offset) = field.value else { continue };
        match (field.number, name) {
            (fields::TENSOR_NAME, Some(name)) if bytes != name.as_bytes() => {
                splice.replace(tensor.offset(), &field, Records::new().bytes(fields::TENSOR_NAME, name));
            }
            (fields::TENSOR_EXTERNAL_DATA, _) => {
                let entry = EntryView::from_body(bytes, offset);
                if entry.has_key("location")
                    && let Some(new) = renamer.moved(entry.value()?)
                {
                    let new = metadata_entry("location", new);
                    splice.replace(
                        tensor.offset(),
                        &field,
                        Records::new().message(fields::TENSOR_EXTERNAL_DATA, &new),
                    );
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The declaration of a large tensor whose data is somewhere else; `None` if the whole tensor is part of the
/// skeleton.
fn skeleton(stored: &Stored, body: &[u8], renamer: &Renamer<'_>) -> Result<Option<TensorProto>, SpliceError> {
    if stored.form == StoredForm::Sparse || body.len() <= MAX_KEPT {
        return Ok(None);
    }
    let header = TensorView::from_body(body, 0).header()?;
    // Data of strings cannot be in another file.
    if header.data_type == Dtype::String.onnx_number() {
        return Ok(None);
    }
    Ok(Some(TensorProto {
        dims: header.dims.to_vec(),
        data_type: Some(header.data_type),
        name: renamer.main(&stored.name).into(),
        external_data: vec![metadata_entry("location", "omitted")],
        data_location: Some(tensor_proto::DataLocation::External as i32),
        ..TensorProto::default()
    }))
}

/// The model of the result without its graph and functions.
pub(crate) fn header(ir_version: i64) -> ModelProto {
    ModelProto {
        ir_version: Some(ir_version),
        producer_name: "typeloom".into(),
        producer_version: env!("CARGO_PKG_VERSION").into(),
        ..ModelProto::default()
    }
}
