//! Random messages generated from random bytes. Fewer and smaller bytes give simpler messages, so a failing
//! case shrinks with its bytes.

use bytes::Bytes;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::tensor_proto::{DataLocation, Segment};
use typeloom_onnx::messages::tensor_shape_proto::{Dimension, dimension};
use typeloom_onnx::messages::type_proto::{Map, Opaque, Optional, Sequence, SparseTensor, Tensor, Value};
use typeloom_onnx::messages::{
    AttributeProto, DeviceConfigurationProto, FunctionProto, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, SharedText, SparseTensorProto, StringStringEntryProto, TensorAnnotation, TensorProto,
    TensorShapeProto, Text, TrainingInfoProto, TypeProto, UnknownFields, ValueInfoProto,
};
use typeloom_types::dtype::Dtype;

/// A deterministic test runner.
pub(crate) fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

/// Whether messages may contain parts that the syntax cannot express.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Expressible,
    Wild,
}

const NAMES: &[&str] = &[
    "x",
    "",
    "scores",
    "w_0",
    "a b",
    "/attn/Add_3",
    "float",
    "seq",
    "undefined",
    "hex",
    "nan",
    "Inf",
    "1x",
    "é→",
    "quo\"te",
    "back\\slash",
    "two\nlines",
    "a.b",
    "@",
    "#no comment",
    "x,y",
    "opaque",
    "\\",
    "then_branch",
];

const DIMS: &[&str] =
    &["N", "batch*seq", "seq + 1", "4*batch", "a//b", "", "7", "a  +b", "float", "?", "(a", "x-1"];

/// A generator that consumes bytes.
pub(crate) struct Gen<'a> {
    bytes: std::slice::Iter<'a, u8>,
    kind: Kind,
    depth: u32,
}

impl<'a> Gen<'a> {
    pub(crate) fn new(bytes: &'a [u8], kind: Kind) -> Self {
        Self { bytes: bytes.iter(), kind, depth: 0 }
    }

    fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or_default()
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    /// True with probability 1/`n`; false if no bytes are left.
    fn once_in(&mut self, n: u8) -> bool {
        self.byte() % n == n - 1
    }

    fn wild(&mut self) -> bool {
        self.kind == Kind::Wild && self.once_in(16)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn many<T>(&mut self, at_most: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.below(at_most + 1);
        (0..count).map(|_| one(self)).collect()
    }

    fn maybe<T>(&mut self, n: u8, one: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.once_in(n).then(|| one(self))
    }

    fn name(&mut self) -> String {
        self.pick(NAMES).to_owned()
    }

    fn i64(&mut self) -> i64 {
        match self.below(8) {
            0 => i64::MIN,
            1 => i64::MAX,
            _ => i64::from(self.byte()) - 100,
        }
    }

    fn f32(&mut self) -> f32 {
        match self.below(8) {
            0 => f32::NAN,
            1 => f32::NEG_INFINITY,
            2 => -0.0,
            3 => -f32::NAN,
            4 if self.kind == Kind::Wild => f32::from_bits(f32::NAN.to_bits() | 1),
            5 => f32::from_bits(u32::from_le_bytes([self.byte(), self.byte(), self.byte(), 0x3f])),
            _ => f32::from(self.byte()) / 4.0,
        }
    }

    fn bytes(&mut self) -> Bytes {
        if self.once_in(4) { self.many(5, Self::byte).into() } else { self.name().into() }
    }

    fn unknown(&mut self) -> UnknownFields {
        if self.wild() {
            UnknownFields::from_wire(vec![0xf8, 0x7f, 1]).unwrap()
        } else {
            UnknownFields::new()
        }
    }

    fn pairs(&mut self) -> Vec<StringStringEntryProto> {
        if !self.once_in(6) {
            return Vec::new();
        }
        self.many(3, |g| StringStringEntryProto {
            key: g.name().into(),
            value: g.name().into(),
            unknown_fields: g.unknown(),
        })
    }

    fn doc(&mut self) -> Text {
        self.maybe(8, Self::name).into()
    }

    fn element(&mut self) -> Option<i32> {
        if self.wild() { Some(99) } else { Some(self.below(Dtype::ALL.len() + 1) as i32) }
    }

    fn shape(&mut self) -> Option<TensorShapeProto> {
        if self.once_in(4) {
            return None;
        }
        let dim = self.many(4, |g| Dimension {
            value: match g.below(4) {
                0 => None,
                1 => Some(dimension::Value::DimParam(g.pick(DIMS).to_owned())),
                _ => Some(dimension::Value::DimValue(g.i64())),
            },
            denotation: g.maybe(8, Self::name).map(SharedText::from).into(),
            unknown_fields: g.unknown(),
        });
        Some(TensorShapeProto { dim, unknown_fields: self.unknown() })
    }

    pub(crate) fn ty(&mut self) -> TypeProto {
        self.depth += 1;
        let inner = |g: &mut Self| if g.depth > 6 || g.once_in(8) { None } else { Some(Box::new(g.ty())) };
        let value = match self.below(12) {
            0 => None,
            1 => {
                Some(Value::SequenceType(Sequence { elem_type: inner(self), unknown_fields: self.unknown() }))
            }
            2 => {
                Some(Value::OptionalType(Optional { elem_type: inner(self), unknown_fields: self.unknown() }))
            }
            3 => Some(Value::MapType(Map {
                key_type: self.element(),
                value_type: inner(self),
                unknown_fields: self.unknown(),
            })),
            4 => Some(Value::OpaqueType(Opaque {
                domain: self.maybe(2, Self::name).into(),
                name: self.maybe(2, Self::name).into(),
                unknown_fields: self.unknown(),
            })),
            5 => Some(Value::SparseTensorType(SparseTensor {
                elem_type: self.element(),
                shape: self.shape(),
                unknown_fields: self.unknown(),
            })),
            _ => Some(Value::TensorType(Tensor {
                elem_type: self.element(),
                shape: self.shape(),
                unknown_fields: self.unknown(),
            })),
        };
        self.depth -= 1;
        TypeProto {
            value,
            denotation: self.maybe(8, Self::name).map(SharedText::from).into(),
            unknown_fields: self.unknown(),
        }
    }

    fn value_info(&mut self) -> ValueInfoProto {
        ValueInfoProto {
            name: self.name().into(),
            r#type: if self.once_in(4) { None } else { Some(self.ty()) },
            doc_string: self.doc(),
            metadata_props: self.pairs(),
            unknown_fields: self.unknown(),
        }
    }

    fn tensor(&mut self) -> TensorProto {
        let data_type = self.below(Dtype::ALL.len() + 1) as i32;
        let mut tensor = TensorProto {
            dims: self.many(3, Self::i64),
            data_type: Some(data_type),
            name: self.maybe(2, Self::name).into(),
            doc_string: self.doc(),
            metadata_props: self.pairs(),
            unknown_fields: self.unknown(),
            ..TensorProto::default()
        };
        if self.once_in(8) {
            tensor.data_location = Some(DataLocation::External as i32);
            tensor.external_data = self.pairs();
        } else if self.once_in(3) {
            let bytes = self.many(16, Self::byte);
            let nan = |bits: u32| f32::from_bits(bits).is_nan();
            let floats = bytes.as_chunks::<4>().0.iter().any(|chunk| nan(u32::from_le_bytes(*chunk)));
            let doubles = bytes.as_chunks::<8>().0.iter().any(|chunk| f64::from_le_bytes(*chunk).is_nan());
            if self.kind == Kind::Wild || !(floats || doubles) {
                tensor.raw_data = Some(bytes.into());
            }
        } else {
            match Dtype::from_onnx_number(data_type) {
                None => {}
                Some(Dtype::F32 | Dtype::Complex64) => tensor.float_data = self.many(4, Self::f32),
                Some(Dtype::F64 | Dtype::Complex128) => {
                    tensor.double_data = self.many(4, |g| g.f32().abs().into());
                }
                Some(Dtype::I64) => tensor.int64_data = self.many(4, Self::i64),
                Some(Dtype::U32 | Dtype::U64) => {
                    tensor.uint64_data = self.many(4, |g| g.i64().cast_unsigned());
                }
                Some(Dtype::String) => tensor.string_data = self.many(4, Self::bytes),
                Some(_) => tensor.int32_data = self.many(4, |g| g.byte().into()),
            }
            // The payload of a NaN is not printed, and widening preserves it.
            tensor.double_data.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = f64::NAN);
        }
        if self.wild() {
            tensor.segment = Some(Segment::default());
        }
        if self.wild() {
            tensor.int64_data.push(1);
        }
        if self.wild() {
            tensor.data_location = Some(7);
        }
        tensor
    }

    fn sparse(&mut self) -> SparseTensorProto {
        SparseTensorProto {
            values: if self.once_in(8) { None } else { Some(self.tensor()) },
            indices: if self.once_in(8) { None } else { Some(self.tensor()) },
            dims: self.many(3, Self::i64),
            unknown_fields: self.unknown(),
        }
    }

    fn attribute(&mut self) -> AttributeProto {
        let ty = self.pick(AttributeType::ALL);
        let mut attribute = AttributeProto {
            name: self.name().into(),
            r#type: Some(ty as i32),
            doc_string: self.doc(),
            unknown_fields: self.unknown(),
            ..AttributeProto::default()
        };
        if self.once_in(8) {
            attribute.ref_attr_name = self.name().into();
            if attribute.ref_attr_name() != "" {
                return attribute;
            }
        }
        let graphs = if self.depth > 2 { 0 } else { 2 };
        match ty {
            AttributeType::Undefined => {}
            AttributeType::Float => attribute.f = Some(self.f32()),
            AttributeType::Int => attribute.i = Some(self.i64()),
            AttributeType::String => attribute.s = Some(self.bytes()),
            AttributeType::Tensor => attribute.t = Some(Box::new(self.tensor())),
            AttributeType::SparseTensor => attribute.sparse_tensor = Some(Box::new(self.sparse())),
            AttributeType::TypeProto => attribute.tp = Some(Box::new(self.ty())),
            AttributeType::Graph if graphs == 0 => attribute.g = Some(Box::default()),
            AttributeType::Graph => attribute.g = Some(Box::new(self.graph())),
            AttributeType::Floats => attribute.floats = self.many(4, Self::f32),
            AttributeType::Ints => attribute.ints = self.many(4, Self::i64),
            AttributeType::Strings => attribute.strings = self.many(4, Self::bytes),
            AttributeType::Tensors => attribute.tensors = self.many(2, Self::tensor),
            AttributeType::SparseTensors => attribute.sparse_tensors = self.many(2, Self::sparse),
            AttributeType::TypeProtos => attribute.type_protos = self.many(3, Self::ty),
            AttributeType::Graphs => attribute.graphs = self.many(graphs, Self::graph),
        }
        if self.wild() {
            attribute.r#type = None;
        }
        if self.wild() {
            attribute.r#type = Some(77);
        }
        if self.wild() {
            attribute.i = Some(3);
        }
        if self.wild() {
            attribute.t = None;
        }
        attribute
    }

    pub(crate) fn node(&mut self) -> NodeProto {
        NodeProto {
            input: self.many(4, Self::name),
            output: self.many(3, Self::name),
            name: self.maybe(2, Self::name).into(),
            op_type: self.name().into(),
            attribute: if self.once_in(2) { self.many(3, Self::attribute) } else { Vec::new() },
            doc_string: self.doc(),
            domain: self.maybe(4, Self::name).into(),
            overload: self.maybe(6, Self::name).into(),
            metadata_props: self.pairs(),
            device_configurations: if self.wild() { vec![Default::default()] } else { Vec::new() },
            unknown_fields: self.unknown(),
        }
    }

    pub(crate) fn graph(&mut self) -> GraphProto {
        self.depth += 1;
        let graph = GraphProto {
            name: self.name().into(),
            node: self.many(4, Self::node),
            initializer: self.many(3, Self::tensor),
            doc_string: self.doc(),
            input: self.many(3, Self::value_info),
            output: self.many(2, Self::value_info),
            value_info: self.many(2, Self::value_info),
            quantization_annotation: if self.once_in(8) {
                self.many(2, |g| TensorAnnotation {
                    tensor_name: g.name().into(),
                    quant_parameter_tensor_names: g.pairs(),
                    unknown_fields: g.unknown(),
                })
            } else {
                Vec::new()
            },
            sparse_initializer: if self.once_in(4) { self.many(2, Self::sparse) } else { Vec::new() },
            metadata_props: self.pairs(),
            unknown_fields: self.unknown(),
        };
        self.depth -= 1;
        graph
    }

    fn opsets(&mut self) -> Vec<OperatorSetIdProto> {
        self.many(2, |g| OperatorSetIdProto {
            domain: g.name().into(),
            version: Some(g.i64()),
            unknown_fields: g.unknown(),
        })
    }

    pub(crate) fn function(&mut self) -> FunctionProto {
        let mut function = FunctionProto {
            name: self.name().into(),
            input: self.many(3, Self::name),
            output: self.many(3, Self::name),
            attribute: self.many(2, Self::name),
            node: self.many(3, Self::node),
            doc_string: self.doc(),
            opset_import: self.opsets(),
            domain: self.maybe(2, Self::name).into(),
            attribute_proto: self.many(2, Self::attribute),
            value_info: self.many(3, Self::value_info),
            overload: self.maybe(4, Self::name).into(),
            metadata_props: self.pairs(),
            unknown_fields: self.unknown(),
        };
        // Overlapping names, so that types occur at inputs and outputs in all combinations.
        let names = function.input.iter().chain(&function.output).cloned().collect::<Vec<_>>();
        for (value, name) in function.value_info.iter_mut().zip(names) {
            value.name = name.into();
        }
        function
    }

    pub(crate) fn model(&mut self) -> ModelProto {
        let mut model = ModelProto {
            ir_version: Some(self.i64()),
            producer_name: self.maybe(2, Self::name).into(),
            producer_version: self.maybe(2, Self::name).into(),
            domain: self.maybe(4, Self::name).into(),
            model_version: self.maybe(2, Self::i64),
            doc_string: self.doc(),
            graph: Some(self.graph()),
            opset_import: self.opsets(),
            metadata_props: self.pairs(),
            functions: self.many(2, Self::function),
            unknown_fields: self.unknown(),
            ..ModelProto::default()
        };
        if self.wild() {
            model.training_info.push(TrainingInfoProto::default());
        }
        if self.wild() {
            model.configuration.push(DeviceConfigurationProto::default());
        }
        if self.wild() {
            model.graph = None;
        }
        model
    }
}
