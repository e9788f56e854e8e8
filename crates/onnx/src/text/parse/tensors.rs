//! Constants: dense tensors with data in the text, as bytes or in another file, and sparse tensors.
//!
//! Elements are stored in the typed field of their type. As in ONNX's syntax, 16-bit and smaller floats are
//! written as the integers of their bits. The number of elements is not compared with the dims; that is a
//! check of the model, not of the text.

use typeloom_types::dtype::Dtype;

use crate::messages::tensor_proto::DataLocation;
use crate::messages::tensor_shape_proto::dimension;
use crate::messages::{SparseTensorProto, TensorProto, TypeProto, type_proto};
use crate::text::error::{Expected, KeyContext, NumberTarget, ParseErrorKind, Result};
use crate::text::lexer::{Lexeme, Punct, Token};
use crate::typed_field::TypedField;

use super::{Parser, error_at};

impl Parser<'_> {
    /// Whether the data of a constant starts here.
    fn at_data(&self) -> bool {
        self.at(Punct::LeftBrace) || self.at(Punct::LeftBracket) || self.at_hex()
    }

    /// The rest of a dense constant in a node, after its type: `name? annotation? =? data?`.
    pub(super) fn constant(&mut self, ty: &TypeProto, at: Lexeme<'_>) -> Result<TensorProto> {
        let mut tensor = TensorProto::default();
        if !self.at_hex() {
            tensor.name = self.optional_name()?.into();
        }
        let (doc_string, metadata_props) = (&mut tensor.doc_string, &mut tensor.metadata_props);
        self.annotation(KeyContext::Tensor, doc_string, Some(metadata_props), |_, _| Ok(false))?;
        constant_type(ty, at, &mut tensor)?;
        if self.eat(Punct::Equals)? || self.at_data() {
            self.data(at, &mut tensor)?;
        }
        Ok(tensor)
    }

    /// The rest of an initializer, after `type name annotation? =`.
    pub(super) fn initializer(
        &mut self,
        ty: &TypeProto,
        at: Lexeme<'_>,
        tensor: &mut TensorProto,
    ) -> Result<()> {
        constant_type(ty, at, tensor)?;
        self.data(at, tensor)
    }

    /// `{values}`, `["key": "value"]` for data in another file, or `hex"..."` for raw data.
    fn data(&mut self, at: Lexeme<'_>, tensor: &mut TensorProto) -> Result<()> {
        if self.at_hex() {
            tensor.raw_data = Some(self.hex()?);
            return Ok(());
        }
        match self.token() {
            Token::Punct(Punct::LeftBracket) => {
                tensor.data_location = Some(DataLocation::External as i32);
                tensor.external_data = self.string_pairs()?;
                Ok(())
            }
            Token::Punct(Punct::LeftBrace) => {
                self.advance()?;
                let dtype = tensor.data_type.and_then(Dtype::from_onnx_number);
                self.list(Punct::RightBrace, |parser| parser.element(dtype, at, tensor))
            }
            Token::Identifier(_) | Token::String(_) | Token::Number(_) | Token::Punct(_) | Token::End => {
                Err(self.unexpected(Expected::Data))
            }
        }
    }

    fn element(&mut self, dtype: Option<Dtype>, at: Lexeme<'_>, tensor: &mut TensorProto) -> Result<()> {
        let Some(dtype) = dtype else { return Err(error_at(at, ParseErrorKind::ConstantElementType)) };
        match TypedField::of(dtype) {
            TypedField::Float => {
                tensor.float_data.push(self.number()?.to_float(NumberTarget::Float, f32::is_finite)?);
            }
            TypedField::Double => {
                tensor.double_data.push(self.number()?.to_float(NumberTarget::Double, f64::is_finite)?);
            }
            TypedField::Int32 => tensor.int32_data.push(self.integer(NumberTarget::Int32)?),
            TypedField::Int64 => tensor.int64_data.push(self.integer(NumberTarget::Int64)?),
            TypedField::Uint64 => tensor.uint64_data.push(self.integer(NumberTarget::Uint64)?),
            TypedField::String => tensor.string_data.push(self.byte_string()?),
        }
        Ok(())
    }

    /// The rest of a sparse constant in a node, after its type: `name? = (values, indices)`.
    pub(super) fn sparse_constant(&mut self, ty: &TypeProto, at: Lexeme<'_>) -> Result<SparseTensorProto> {
        let name = self.optional_name()?;
        self.expect(Punct::Equals)?;
        self.sparse_data(ty, at, name)
    }

    /// `(values, indices)`: two dense constants, or `?` for a missing one.
    pub(super) fn sparse_data(
        &mut self,
        ty: &TypeProto,
        at: Lexeme<'_>,
        name: Option<String>,
    ) -> Result<SparseTensorProto> {
        let mut sparse = SparseTensorProto { dims: constant_dims(ty, at)?, ..Default::default() };
        self.expect(Punct::LeftParen)?;
        sparse.values = self.optional_dense()?;
        self.expect(Punct::Comma)?;
        sparse.indices = self.optional_dense()?;
        self.expect(Punct::RightParen)?;
        if let (Some(name), Some(values)) = (name, &mut sparse.values)
            && values.name.is_none()
        {
            values.name = name.into();
        }
        Ok(sparse)
    }

    fn optional_dense(&mut self) -> Result<Option<TensorProto>> {
        if self.eat(Punct::Question)? {
            return Ok(None);
        }
        let at = self.lexeme;
        let ty = self.ty()?;
        Ok(Some(self.constant(&ty, at)?))
    }
}

/// Sets element type and dims of a dense constant.
fn constant_type(ty: &TypeProto, at: Lexeme<'_>, tensor: &mut TensorProto) -> Result<()> {
    let Some(type_proto::Value::TensorType(dense)) = &ty.value else {
        return Err(error_at(at, ParseErrorKind::ConstantNotATensor(kind_of(ty))));
    };
    tensor.data_type = dense.elem_type;
    tensor.dims = constant_dims(ty, at)?;
    Ok(())
}

/// The dims of a constant, which must be numbers.
fn constant_dims(ty: &TypeProto, at: Lexeme<'_>) -> Result<Vec<i64>> {
    let shape = match &ty.value {
        Some(type_proto::Value::TensorType(tensor)) => &tensor.shape,
        Some(type_proto::Value::SparseTensorType(tensor)) => &tensor.shape,
        _ => return Err(error_at(at, ParseErrorKind::ConstantNotATensor(kind_of(ty)))),
    };
    let dims = shape.as_ref().and_then(|shape| {
        let number = |value: &_| match value {
            Some(dimension::Value::DimValue(number)) => Some(*number),
            Some(dimension::Value::DimParam(_)) | None => None,
        };
        shape.dim.iter().map(|dim| number(&dim.value)).collect::<Option<Vec<_>>>()
    });
    dims.ok_or_else(|| error_at(at, ParseErrorKind::ConstantShape))
}

/// The kind of a type in error messages.
fn kind_of(ty: &TypeProto) -> &'static str {
    match &ty.value {
        None => "an unknown type",
        Some(type_proto::Value::TensorType(_)) => "a tensor",
        Some(type_proto::Value::SequenceType(_)) => "a sequence",
        Some(type_proto::Value::MapType(_)) => "a map",
        Some(type_proto::Value::OpaqueType(_)) => "an opaque type",
        Some(type_proto::Value::SparseTensorType(_)) => "a sparse tensor",
        Some(type_proto::Value::OptionalType(_)) => "an optional",
    }
}
