//! Portable types: interned, content-addressed, and exchanged as verified bundles.
//!
//! ```
//! use typeloom::pool::{Pool, Tag};
//!
//! let mut pool = Pool::new();
//! let key = pool.primitive(Tag::Str)?;
//! let value = pool.primitive(Tag::Int)?;
//! let map = pool.map(key, value)?;
//!
//! let bundle = pool.export(&[("scores", map)])?;
//! let mut other = Pool::new();
//! let roots = other.import(bundle.as_bytes())?;
//! assert_eq!(other.digest(roots[0].ty)?, pool.digest(map)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`service`] contains pools that threads share, and limits for the input of others.

pub mod service;

/// Verified bytes that contain types with everything they refer to.
///
/// ```
/// use typeloom::pool::{Bundle, ExportError, ImportError, Pool, Tag};
///
/// fn count(pool: &mut Pool) -> Result<Bundle, Box<dyn std::error::Error>> {
///     let int = pool.primitive(Tag::Int)?;
///     let bundle = pool.export(&[("count", int)]).map_err(|error: ExportError| error.to_string())?;
///     Ok(bundle)
/// }
///
/// let bundle = count(&mut Pool::new())?;
/// let roots = Pool::new().import(bundle.as_bytes())?;
/// assert_eq!(roots[0].label, "count");
/// let error: ImportError = Pool::new().import(&bundle.as_bytes()[1..]).unwrap_err();
/// println!("{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_pool::Bundle;
/// Errors of conversions of terms and of shape digests, and roots of imported bundles.
///
/// ```
/// use typeloom::pool::{ConvertError, ImportedRoot, Pool, ShapeError, Sort};
/// use typeloom::term::{Boxed, Scope, Symbols, parse_ty};
///
/// let (cx, mut symbols, mut pool) = (Boxed::new(), Symbols::new(), Pool::new());
/// let open = parse_ty(&cx, &mut symbols, &Scope::new(), "Vec<?0>")?;
/// assert!(matches!(pool.intern_term(&cx, &symbols, &open), Err(ConvertError::Inference)));
/// let variable = pool.infer(0, Sort::Type)?;
/// assert!(matches!(pool.shape_digest(variable), Err(ShapeError::NotPortable(_))));
///
/// let known = parse_ty(&cx, &mut symbols, &Scope::new(), "Vec<u8>")?;
/// let known = pool.intern_term(&cx, &symbols, &known)?;
/// let roots: Vec<ImportedRoot> = Pool::new().import(pool.export(&[("bytes", known)])?.as_bytes())?;
/// assert_eq!((roots[0].label.as_str(), roots[0].digest), ("bytes", pool.digest(known)?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_pool::ConvertError;
/// Contents of one type. Children are ids in a `Descriptor<Idx>` and digests in a `TypeDescriptor`.
///
/// ```
/// use typeloom::pool::{Descriptor, Digest, Idx, Pool, Tag, TypeDescriptor, VariantDescriptor};
///
/// let mut pool = Pool::new();
/// let int: Idx = pool.intern(&Descriptor::Primitive(Tag::Int))?;
/// let variant = |name: &str, field_types| VariantDescriptor { name: name.into(), field_names: vec![], field_types };
/// let (some, none) = (variant("Some", vec![int]), variant("None", vec![]));
/// let maybe = pool.intern(&Descriptor::Enum { name: "Maybe".into(), variants: vec![some, none] })?;
///
/// let descriptors: Vec<(Digest, TypeDescriptor)> = pool.describe_transitive(maybe)?;
/// let mut other = Pool::new();
/// let types = other.reconstruct(&descriptors)?;
/// assert_eq!(other.signature(types[&pool.digest(maybe)?]), pool.signature(maybe));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_pool::Descriptor;
/// Generic and recursive types: the sorts of the variables of a scheme, and references between the nodes of a
/// recursive type.
///
/// ```
/// use typeloom::pool::{Descriptor, GraphRef, Pool, Sort, Tag};
///
/// let mut pool = Pool::new();
/// let item = pool.bound(0, 0, Sort::Type)?;
/// let (items, first) = (pool.list(item)?, pool.option(item)?);
/// let function = pool.function(&[items], first)?;
/// let scheme = pool.scheme(&[Sort::Type], function)?;
/// assert_eq!(pool.signature(scheme), "forall T. (list<T>) -> option<T>");
///
/// // A list of itself or of an integer: two nodes that refer to each other.
/// let int = pool.primitive(Tag::Int)?;
/// let nested = pool.intern_graph(&[
///     Descriptor::TwoChild { tag: Tag::Result, child1: GraphRef::Outer(int), child2: GraphRef::Member(1) },
///     Descriptor::Container { tag: Tag::List, child: GraphRef::Member(0) },
/// ])?;
/// assert_eq!(pool.signature(nested[1]), "rec0 = list<result<int, rec0>>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_pool::GraphRef;
/// The set of interned types, its ids, and the 256-bit identity of a type. A pool has one method for each
/// kind of type ([`Pool::structure`], [`Pool::enumeration`], [`Pool::function`], [`Pool::tensor`], ...);
/// names are interned first.
///
/// ```
/// use typeloom::pool::{Digest, Idx, NameId, Pool, PoolError, Tag};
///
/// fn scores(pool: &mut Pool) -> Result<Idx, PoolError> {
///     let (key, value) = (pool.primitive(Tag::Str)?, pool.primitive(Tag::Float)?);
///     pool.map(key, value)
/// }
///
/// let mut pool = Pool::new();
/// let map = scores(&mut pool)?;
/// assert_eq!(scores(&mut pool)?, map);
/// assert_eq!(pool.signature(map), "map<str, float>");
/// let digest: Digest = pool.digest(map)?;
/// let (user, id, embedding) = (pool.name("User")?, pool.name("id")?, pool.name("embedding")?);
/// let (int, float) = (pool.primitive(Tag::U64)?, pool.primitive(Tag::F32)?);
/// let (n, three) = (pool.dim_symbol("N")?, pool.dim_const(3)?);
/// let vectors = pool.tensor(float, &[n, three])?;
/// let fields: [(NameId, Idx); 2] = [(id, int), (embedding, vectors)];
/// let user = pool.structure(user, &fields)?;
/// assert_eq!(pool.signature(user), "struct User { id: u64, embedding: Tensor<f32, [N, 3]> }");
/// assert_eq!(pool.freeze().digest(map), Some(digest));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_pool::Pool;
/// [`GraphRef`] has an example.
#[doc(inline)]
pub use typeloom_pool::Sort;
/// Types of the public items of a module.
///
/// ```
/// use typeloom::pool::{ModuleItem, Pool, Tag, TypedModule, Visibility};
///
/// let mut pool = Pool::new();
/// let int = pool.primitive(Tag::Int)?;
/// let ints = pool.list(int)?;
/// let items = [
///     ModuleItem { name: "count", ty: int, visibility: Visibility::Public },
///     ModuleItem { name: "cache", ty: ints, visibility: Visibility::Private },
/// ];
/// let module = TypedModule::new(&mut pool, &items)?;
/// assert_eq!(module.type_descriptors.len(), 1);
/// let imported = module.import(&mut Pool::new())?;
/// assert!(imported.contains_key("count"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_pool::TypedModule;
/// Variables, constants and recursive groups in descriptors.
///
/// ```
/// use typeloom::pool::{ConstDescriptor, Descriptor, Pool, Sort, Tag, TypeDescriptor, Variable};
///
/// let mut pool = Pool::new();
/// let item = pool.bound(0, 0, Sort::Type)?;
/// let bound = Variable::Bound { depth: 0, index: 0, sort: Sort::Type };
/// assert_eq!(pool.describe(item)?, TypeDescriptor::Variable(bound));
/// // A variable of an inference has a meaning in that inference only.
/// let open = pool.infer(7, Sort::Type)?;
/// assert!(pool.describe(open).is_err());
/// let three = pool.dim_const(3)?;
/// assert_eq!(pool.get(three), Descriptor::Const(ConstDescriptor::Int(3)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_pool::Variable;
/// Comparison of two types and its changes.
///
/// ```
/// use typeloom::interface::Direction;
/// use typeloom::pool::{Compat, Pool, Tag, TypeChange};
///
/// let mut pool = Pool::new();
/// let (int, float) = (pool.primitive(Tag::Int)?, pool.primitive(Tag::Float)?);
/// let (old, new) = (pool.list(int)?, pool.list(float)?);
/// let result: Compat = pool.compat(old, new, Direction::Backward);
/// assert!(!result.is_compatible());
/// assert_eq!(result.breaking[0].change, TypeChange::Type);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_pool::compat::Compat;
/// [`Compat`] has an example.
#[doc(inline)]
pub use typeloom_pool::compat::TypeChange;
/// [`Variable`] has an example.
#[doc(inline)]
pub use typeloom_pool::{ConstDescriptor, GroupDescriptor, NotPortable};
/// [`Pool`] has an example.
#[doc(inline)]
pub use typeloom_pool::{Digest, Idx, NameId, PoolError, Tag};
/// [`Bundle`] has an example.
#[doc(inline)]
pub use typeloom_pool::{ExportError, ImportError};
/// [`ConvertError`] has an example.
#[doc(inline)]
pub use typeloom_pool::{ImportedRoot, ShapeError};
/// [`TypedModule`] has an example.
#[doc(inline)]
pub use typeloom_pool::{ModuleItem, Visibility};
/// [`Descriptor`] has an example.
#[doc(inline)]
pub use typeloom_pool::{TypeDescriptor, VariantDescriptor};
