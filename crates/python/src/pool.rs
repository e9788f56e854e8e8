//! Pools of portable types, and bundles.
//!
//! There is no wrapper for each kind of type: `intern` reads a descriptor, and the constructors of the Python
//! class write one.
//!
//! **Invariant:** an id is used only in the pool that made it. A handle refers to its pool, and other pools
//! refuse it. **Invariant:** the interpreter is never released while a pool is borrowed, so that no call
//! meets a borrowed pool and no fork copies one.

use std::collections::BTreeSet;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use typeloom::pool::service::ImportLimits;
use typeloom::pool::{Bundle, Descriptor, Digest, GraphRef, ImportError, TypeDescriptor};
use typeloom_project::parts::pool;

use crate::convert::parse_direction;
use crate::descriptor;
use crate::error::core_error;

/// A pool of types.
#[pyclass(module = "typeloom._core")]
pub(crate) struct Pool(pool::Pool);

/// A type of a pool. `str` is the type on one line.
///
/// Two handles are equal if they are the same type of the same pool; handles are hashable. Other pools refuse
/// a handle. `Pool.intern` and the other methods of a pool return them.
///
/// >>> import typeloom as tl
/// >>> pool = tl.Pool()
/// >>> ints = pool.list(pool.primitive("int"))
/// >>> ints, ints == pool.list(pool.primitive("int"))
/// (<Idx list<int>>, True)
#[pyclass(module = "typeloom.pool", frozen)]
pub(crate) struct Idx {
    pool: Py<Pool>,
    id: pool::Idx,
}

impl Idx {
    fn new(pool: &Bound<'_, Pool>, id: pool::Idx) -> Self {
        Self { pool: pool.clone().unbind(), id }
    }

    /// The id in `pool`, whose handle this has to be.
    fn within(&self, pool: &Bound<'_, Pool>) -> PyResult<pool::Idx> {
        if self.pool.is(pool) { Ok(self.id) } else { Err(core_error("the type is of another pool")) }
    }
}

#[pymethods]
impl Idx {
    /// The type on one line.
    fn __str__(&self, py: Python<'_>) -> String {
        self.pool.borrow(py).0.signature(self.id)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<Idx {}>", self.__str__(py))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.id == other.id && self.pool.is(&other.pool)
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
        BuildHasherDefault::<DefaultHasher>::default().hash_one((self.id, self.pool.as_ptr().addr()))
    }
}

/// The id of a handle.
fn id(pool: &Bound<'_, Pool>, value: &Bound<'_, PyAny>) -> PyResult<pool::Idx> {
    match value.cast::<Idx>() {
        Ok(handle) => handle.get().within(pool),
        Err(_) => Err(PyTypeError::new_err(format!(
            "a type of the pool is an Idx, not {}",
            value.get_type().name()?
        ))),
    }
}

/// A descriptor with its digest.
type Described<'py> = (String, Bound<'py, PyDict>);

/// `(label, type, digest)` of each root, or `(message, byte offset, digests of missing types)` of an error.
type Imported = (Vec<(String, Idx, String)>, Option<(String, Option<usize>, Vec<String>)>);

/// `(path, change, old, new, breaks backward, breaks forward, text)` of a difference.
type Difference = (String, &'static str, String, String, bool, bool, String);

/// `(equal, compatible, truncated, breaking, harmless)` of a comparison.
type Comparison = (bool, bool, bool, Vec<Difference>, Vec<Difference>);

#[pymethods]
impl Pool {
    #[new]
    fn new() -> Self {
        Self(pool::Pool::new())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Interns a descriptor whose references are handles.
    fn intern(slf: &Bound<'_, Self>, ty: &Bound<'_, PyAny>) -> PyResult<Idx> {
        let ty = descriptor::read(ty, &|value| id(slf, value))?;
        let id = slf.borrow_mut().0.intern(&ty).map_err(core_error)?;
        Ok(Idx::new(slf, id))
    }

    /// Interns descriptors that refer to each other.
    fn intern_graph(slf: &Bound<'_, Self>, nodes: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<Idx>> {
        let read = |node: &Bound<'_, PyAny>| -> PyResult<Descriptor<GraphRef<pool::Idx>>> {
            descriptor::read(node, &|value| descriptor::read_graph_ref(value, |value| id(slf, value)))
        };
        let nodes: Vec<_> = nodes.iter().map(read).collect::<PyResult<_>>()?;
        let ids = slf.borrow_mut().0.intern_graph(&nodes).map_err(core_error)?;
        Ok(ids.into_iter().map(|id| Idx::new(slf, id)).collect())
    }

    /// The descriptor of a type, with handles as references.
    fn get<'py>(slf: &Bound<'py, Self>, ty: &Idx) -> PyResult<Bound<'py, PyDict>> {
        let py = slf.py();
        let ty = slf.borrow().0.get(ty.within(slf)?);
        descriptor::write(py, &ty, &|id| Ok(Bound::new(py, Idx::new(slf, *id))?.into_any()))
    }

    /// The descriptor of a type, with digests as references.
    fn describe<'py>(slf: &Bound<'py, Self>, ty: &Idx) -> PyResult<Bound<'py, PyDict>> {
        let ty = ty.within(slf)?;
        let pool = &mut slf.borrow_mut().0;
        // Later calls find the digests of the children.
        pool.digest(ty).map_err(core_error)?;
        descriptor::write_portable(slf.py(), &pool.describe(ty).map_err(core_error)?)
    }

    /// The descriptors of types and of all types that they reach, each after those that it refers to.
    fn describe_all<'py>(
        slf: &Bound<'py, Self>,
        types: Vec<PyRef<'py, Idx>>,
    ) -> PyResult<Vec<Described<'py>>> {
        let ids: Vec<_> = types.iter().map(|ty| ty.within(slf)).collect::<PyResult<_>>()?;
        let all = slf.borrow().0.describe_all(&ids).map_err(core_error)?;
        let write = |(digest, ty): (Digest, TypeDescriptor)| {
            Ok((digest.to_string(), descriptor::write_portable(slf.py(), &ty)?))
        };
        all.into_iter().map(write).collect()
    }

    /// Interns described types.
    fn reconstruct(
        slf: &Bound<'_, Self>,
        described: Vec<(String, Bound<'_, PyAny>)>,
    ) -> PyResult<Vec<(String, Idx)>> {
        let read = |(digest, ty): &(String, Bound<'_, PyAny>)| {
            Ok((descriptor::digest(digest)?, descriptor::read_portable(ty)?))
        };
        let described: Vec<_> = described.iter().map(read).collect::<PyResult<_>>()?;
        let ids = slf.borrow_mut().0.reconstruct(&described).map_err(core_error)?;
        Ok(ids.into_iter().map(|(digest, id)| (digest.to_string(), Idx::new(slf, id))).collect())
    }

    fn digest(slf: &Bound<'_, Self>, ty: &Idx) -> PyResult<String> {
        let id = ty.within(slf)?;
        Ok(slf.borrow_mut().0.digest(id).map_err(core_error)?.to_string())
    }

    fn find_digest(slf: &Bound<'_, Self>, digest: &str) -> PyResult<Option<Idx>> {
        let digest = descriptor::digest(digest)?;
        let found = slf.borrow_mut().0.find_digest(&digest);
        Ok(found.map(|id| Idx::new(slf, id)))
    }

    /// The kind of a type, its sort, and whether it has free bound variables, and is recursive.
    fn facts(slf: &Bound<'_, Self>, ty: &Idx) -> PyResult<(&'static str, &'static str, bool, bool)> {
        let (id, pool) = (ty.within(slf)?, &slf.borrow().0);
        Ok((pool.tag(id).name(), pool.sort(id).name(), pool.is_open(id), pool.is_recursive(id)))
    }

    fn children(slf: &Bound<'_, Self>, ty: &Idx) -> PyResult<Vec<Idx>> {
        let children = slf.borrow().0.children(ty.within(slf)?);
        Ok(children.into_iter().map(|id| Idx::new(slf, id)).collect())
    }

    fn tree(slf: &Bound<'_, Self>, ty: &Idx) -> PyResult<String> {
        Ok(slf.borrow().0.tree(ty.within(slf)?))
    }

    /// A bundle of labelled types, without those that the receiver has.
    fn export<'py>(
        slf: &Bound<'py, Self>,
        roots: Vec<(String, PyRef<'py, Idx>)>,
        receiver_has: Vec<String>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let with_id = |(label, ty): &'_ (String, PyRef<'py, Idx>)| Ok((label.clone(), ty.within(slf)?));
        let roots: Vec<_> = roots.iter().map(with_id).collect::<PyResult<_>>()?;
        let roots: Vec<_> = roots.iter().map(|(label, id)| (label.as_str(), *id)).collect();
        let has: BTreeSet<_> =
            receiver_has.iter().map(|text| descriptor::digest(text)).collect::<PyResult<_>>()?;
        let bundle = slf.borrow_mut().0.export_thin(&roots, &has).map_err(core_error)?;
        Ok(PyBytes::new(slf.py(), bundle.as_bytes()))
    }

    /// The labelled types of a bundle, or the error that leaves the pool unchanged.
    fn import_(slf: &Bound<'_, Self>, bundle: &[u8]) -> Imported {
        let imported = slf.borrow_mut().0.import(bundle);
        match imported {
            Ok(roots) => {
                let root =
                    |root: pool::ImportedRoot| (root.label, Idx::new(slf, root.ty), root.digest.to_string());
                (roots.into_iter().map(root).collect(), None)
            }
            Err(error) => (Vec::new(), Some(invalid(&error))),
        }
    }

    fn compat(slf: &Bound<'_, Self>, old: &Idx, new: &Idx, direction: &str) -> PyResult<Comparison> {
        let direction = parse_direction(direction)?;
        let compat = slf.borrow().0.compat(old.within(slf)?, new.within(slf)?, direction);
        let convert = |difference: pool::compat::Difference| {
            let (text, change) = (difference.to_string(), change_name(&difference.change));
            let pool::compat::Difference { path, change: _, old, new, breaks } = difference;
            (path.to_string(), change, old, new, breaks.backward, breaks.forward, text)
        };
        Ok((
            compat.equal,
            compat.compatible,
            compat.truncated,
            compat.breaking.into_iter().map(convert).collect(),
            compat.harmless.into_iter().map(convert).collect(),
        ))
    }

    /// Interns a term.
    fn intern_term(slf: &Bound<'_, Self>, term: &crate::term::Ty) -> PyResult<Idx> {
        let id = term.intern(slf.py(), &mut slf.borrow_mut().0)?;
        Ok(Idx::new(slf, id))
    }

    /// The term of a type.
    fn term(
        slf: &Bound<'_, Self>,
        ty: &Idx,
        symbols: &Bound<'_, crate::term::Symbols>,
    ) -> PyResult<crate::term::Ty> {
        crate::term::Ty::of_pool(&slf.borrow().0, ty.within(slf)?, symbols)
    }
}

/// The message, the byte offset and the missing types of an error.
fn invalid(error: &ImportError) -> (String, Option<usize>, Vec<String>) {
    let (offset, missing) = match error {
        ImportError::NotFound { missing } => (None, missing.iter().map(Digest::to_string).collect()),
        ImportError::Invalid { offset, kind: _ } => (Some(*offset), Vec::new()),
    };
    (error.to_string(), offset, missing)
}

fn change_name(change: &pool::compat::TypeChange) -> &'static str {
    use pool::compat::TypeChange;
    match change {
        TypeChange::Type => "type",
        TypeChange::Count { .. } => "count",
        TypeChange::FieldAdded(_) => "field-added",
        TypeChange::FieldRemoved(_) => "field-removed",
        TypeChange::VariantAdded(_) => "variant-added",
        TypeChange::VariantRemoved(_) => "variant-removed",
    }
}

/// The JSON view of a bundle.
#[pyfunction]
pub(crate) fn bundle_to_json(bundle: Vec<u8>) -> PyResult<String> {
    Bundle::from_bytes(bundle).to_json().map_err(core_error)
}

/// The bundle with a JSON view.
#[pyfunction]
pub(crate) fn bundle_from_json<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyBytes>> {
    let bundle = Bundle::from_json(text, &ImportLimits::default()).map_err(core_error)?;
    Ok(PyBytes::new(py, bundle.as_bytes()))
}
