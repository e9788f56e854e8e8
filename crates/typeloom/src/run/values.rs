//! Values at run time that are not tensors, and conversions between Rust types and values.
//!
//! ```
//! use typeloom::run::Datum;
//! use typeloom::run::values::{FromDatum as _, IntoDatum as _, Scalar};
//!
//! let vector = vec![1.0_f32, 2.0];
//! assert_eq!(Vec::<f32>::from_datum(&vector.to_datum(None)).as_deref(), Some(&vector));
//! assert!(Datum::Scalar(Scalar::I32(7)).as_tensor().is_none());
//! ```

/// Metadata of contributions to an aggregator, decoded from bytes.
///
/// ```
/// use typeloom::run::values::FromMetadata;
///
/// struct Weight(f32);
///
/// impl FromMetadata for Weight {
///     fn from_metadata(bytes: Option<&[u8]>) -> Result<Self, String> {
///         let weight = f32::from_metadata(bytes)?;
///         if weight > 0.0 { Ok(Self(weight)) } else { Err(format!("{weight} is no weight")) }
///     }
/// }
///
/// assert!(Weight::from_metadata(Some(&(-1.0_f32).to_le_bytes())).is_err());
/// ```
#[doc(inline)]
pub use typeloom_runtime::components::FromMetadata;
/// Conversion between Rust types and values at run time.
///
/// ```
/// use typeloom::run::values::{DatumElement, FromDatum as _, IntoDatum as _};
/// use typeloom::types::{ElementStorage, TypeNode, builtins::TYPE_TENSOR_U16};
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct Pixel(u8, u8);
///
/// impl ElementStorage for Pixel {
///     const SLICE: &'static TypeNode = &TYPE_TENSOR_U16;
/// }
///
/// impl DatumElement for Pixel {
///     const BYTES: usize = 2;
///
///     fn write(&self, bytes: &mut Vec<u8>) {
///         bytes.extend([self.0, self.1]);
///     }
///
///     fn read(bytes: &[u8]) -> Option<Self> {
///         if let [a, b] = bytes { Some(Self(*a, *b)) } else { None }
///     }
/// }
///
/// let pixels = vec![Pixel(1, 2), Pixel(3, 4)];
/// assert_eq!(Vec::<Pixel>::from_datum(&pixels.to_datum(None)).as_deref(), Some(&pixels));
/// ```
#[doc(inline)]
pub use typeloom_runtime::convert::FromDatum;
/// The conversion of a storage type of a program's own.
///
/// ```
/// use std::fmt::Error;
/// use typeloom::module::{Graph, Model, Module};
/// use typeloom::run::values::StorageValue;
/// use typeloom::run::{Components, Datum, Executor, Verify, inputs};
/// use typeloom::types::{AnyTensor, Storage, TypeNode, builtins::TYPE_TENSOR_F32};
///
/// #[derive(Clone)]
/// struct Own(Vec<f32>);
///
/// impl Storage for Own {
///     const TYPE: &'static TypeNode = &TYPE_TENSOR_F32;
/// }
///
/// impl StorageValue for Own {
///     fn to_value(&self) -> Datum {
///         AnyTensor::from(&*self.0).into()
///     }
///
///     fn from_value(value: &Datum) -> Option<Self> {
///         Some(Self(value.as_tensor()?.to_vec().ok()?))
///     }
/// }
///
/// /// A model of one parameter, which is added.
/// struct Shift(Own);
///
/// impl Model for Shift {
///     type Tensor = Own;
///     type Error = Error;
///
///     fn forward(&self, input: &Own) -> Result<Box<Own>, Error> {
///         Ok(Box::new(Own(input.0.iter().map(|x| x + self.0.0[0]).collect())))
///     }
///
///     fn load_parameters(&mut self, parameters: &Own) -> Result<(), Error> {
///         self.0 = parameters.clone();
///         Ok(())
///     }
///
///     fn backward(&mut self, gradient: &Own) -> Result<Box<Own>, Error> {
///         Ok(Box::new(Own(vec![gradient.0.iter().sum()])))
///     }
///
///     fn apply_delta(&mut self, delta: &Own) -> Result<(), Error> {
///         self.0.0[0] += delta.0[0];
///         Ok(())
///     }
///
///     fn compute_loss(&self, prediction: &Own, target: &Own) -> Result<Box<Own>, Error> {
///         Ok(Box::new(Own(vec![prediction.0[0] - target.0[0]])))
///     }
///
///     fn params(&self) -> &Own {
///         &self.0
///     }
/// }
///
/// struct Shifted;
///
/// impl Module for Shifted {
///     fn name(&self) -> &str {
///         "shifted"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let x = g.input("x").of("float[2, N]");
///         g.output("y", g.model("shift").forward(&x).of("float[2, N]"));
///     }
/// }
///
/// let components = Components::new().model("shift", Shift(Own(vec![0.5])));
/// let executor = Executor::new(&components.compiler().compile(Shifted)?, &components)?;
/// let outcome = executor.run(inputs! { "x" => [[1.0], [2.0]] }, Verify::EveryValue)?;
/// assert_eq!(outcome.get("y"), Some(&AnyTensor::from_slice(&[2, 1], &[1.5_f32, 2.5])?.into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_runtime::convert::StorageValue;
/// [`FromDatum`] has an example.
#[doc(inline)]
pub use typeloom_runtime::convert::{DatumElement, IntoDatum};
/// [`Scalar`] has an example.
#[doc(inline)]
pub use typeloom_tensor::datum::LeafDatum;
/// Values of leaves of the type tree that are not tensors.
///
/// ```
/// use typeloom::run::Datum;
/// use typeloom::run::values::{LeafDatum, Scalar};
///
/// let type_of = |datum: Datum| datum.type_node().map(|node| node.id);
/// assert_eq!(type_of(Datum::Scalar(Scalar::F32(0.5))), Some("scalar.f32"));
/// fn others(_: LeafDatum) {}
/// ```
#[doc(inline)]
pub use typeloom_tensor::datum::Scalar;
/// Maps from `int64` or `string` to tensors, such as the scores of a classifier by label.
///
/// ```
/// use typeloom::run::values::{MapDatum, MapError};
/// use typeloom::types::AnyTensor;
///
/// let scores = MapDatum::new(AnyTensor::from([1_i64, 5]), AnyTensor::from([0.25_f32, 0.75]))?;
/// assert_eq!(scores.values().as_slice::<f32>().ok(), Some(&[0.25, 0.75][..]));
/// let twice = MapDatum::new(AnyTensor::from([1_i64, 1]), AnyTensor::from([0.25_f32, 0.75]));
/// assert_eq!(twice, Err(MapError::Order));
/// # Ok::<(), MapError>(())
/// ```
#[doc(inline)]
pub use typeloom_tensor::map::MapDatum;
/// [`MapDatum`] has an example.
#[doc(inline)]
pub use typeloom_tensor::map::MapError;
