//! Terms: types with Rust's equality and subtyping.
//!
//! **Invariant:** a term refers to the table of the names in it, and is related only to terms of the same table.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use typeloom::pool::{Idx, Pool};
use typeloom::term::infer::{NoProgram, Variance};
use typeloom::term::{
    Boxed, Const, GenericArg, Name, RegionFacts, Scope, TyData, check_subtype, parse_ty, print,
};
use typeloom_term::{AliasTy, Program};
use typeloom_term::program::{ConstEquation, Normalized};

use crate::error::core_error;

/// A table of names.
#[pyclass(module = "typeloom.term")]
pub(crate) struct Symbols(typeloom::term::Symbols);

#[pymethods]
impl Symbols {
    #[new]
    fn new() -> Self {
        Self(typeloom::term::Symbols::new())
    }
}

/// A type as a term.
#[pyclass(module = "typeloom.term", frozen)]
pub(crate) struct Ty {
    term: typeloom::term::Ty,
    symbols: Py<Symbols>,
}

impl Ty {
    /// The term of a type of a pool.
    pub(crate) fn of_pool(pool: &Pool, ty: Idx, symbols: &Bound<'_, Symbols>) -> PyResult<Self> {
        let term = pool.term(&Boxed::new(), &mut symbols.borrow_mut().0, ty).map_err(core_error)?;
        Ok(Self { term, symbols: symbols.clone().unbind() })
    }

    /// Interns the term.
    pub(crate) fn intern(&self, py: Python<'_>, pool: &mut Pool) -> PyResult<Idx> {
        pool.intern_term(&Boxed::new(), &self.symbols.borrow(py).0, &self.term).map_err(core_error)
    }

    /// Refuses a term with another table of names.
    fn related<'a>(&self, other: &'a Self) -> PyResult<&'a typeloom::term::Ty> {
        if self.symbols.is(&other.symbols) {
            return Ok(&other.term);
        }
        Err(core_error("the two terms have different symbols"))
    }
}

#[pymethods]
impl Ty {
    fn __str__(&self, py: Python<'_>) -> String {
        print(&self.term, &self.symbols.borrow(py).0)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<Ty {}>", self.__str__(py))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.symbols.is(&other.symbols) && self.term == other.term
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
        BuildHasherDefault::<DefaultHasher>::default().hash_one(&self.term)
    }

    /// The kind of type: `application`, `parameter`, `function`, `dyn`, `alias` or `other`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.term.data() {
            TyData::Apply(_) => "application",
            TyData::Placeholder(_) => "parameter",
            TyData::Fn(_) => "function",
            TyData::Dyn(_) => "dyn",
            TyData::Alias(_) => "alias",
            _ => "other",
        }
    }

    /// The types among the arguments of an application or alias.
    #[getter]
    fn types(&self, py: Python<'_>) -> Vec<Self> {
        let args: &[GenericArg<Boxed>] = match self.term.data() {
            TyData::Apply(apply) => apply.args,
            TyData::Alias(alias) => alias.args,
            _ => &[],
        };
        let types = args.iter().filter_map(GenericArg::as_ty);
        types.map(|ty| Self { term: ty.clone(), symbols: self.symbols.clone_ref(py) }).collect()
    }

    /// The reason for which this type is no subtype of another one; `None` if it is one. `outlives` are pairs of lifetimes,
    /// and `variances` those of the parameters of nominal types.
    fn subtype_error(
        &self,
        py: Python<'_>,
        other: &Self,
        outlives: Vec<(String, String)>,
        variances: HashMap<String, Vec<String>>,
    ) -> PyResult<Option<String>> {
        let other = self.related(other)?;
        let mut symbols = self.symbols.borrow_mut(py);
        let mut facts = RegionFacts::new();
        for (longer, shorter) in &outlives {
            facts.assume(region(&mut symbols.0, longer)?, region(&mut symbols.0, shorter)?);
        }
        let mut declared = HashMap::new();
        for (name, list) in &variances {
            let list: PyResult<Vec<Variance>> = list.iter().map(|one| variance(one)).collect();
            declared.insert(Name::Adt(symbols.0.intern(name)), list?);
        }
        let found = check_subtype(&Boxed::new(), &Declared(declared), &facts, &self.term, other);
        Ok(found.err().map(|reason| reason.describe(&symbols.0)))
    }
}

/// A lifetime, such as `'a`.
fn region(symbols: &mut typeloom::term::Symbols, text: &str) -> PyResult<typeloom::term::Region<Boxed>> {
    let reference = format!("&{text} u8");
    let ty = parse_ty(&Boxed::new(), symbols, &Scope::new(), &reference);
    let region = ty.ok().and_then(|ty| match ty.data() {
        TyData::Apply(apply) => apply.args.iter().find_map(GenericArg::as_region),
        _ => None,
    });
    match region {
        Some(region) if text.starts_with('\'') => Ok(region),
        _ => Err(PyValueError::new_err(format!("`{text}` is no lifetime, such as 'a"))),
    }
}

fn variance(name: &str) -> PyResult<Variance> {
    let all = [Variance::Covariant, Variance::Contravariant, Variance::Invariant, Variance::Bivariant];
    let found = all.into_iter().find(|variance| variance.to_string() == name);
    found.ok_or_else(|| {
        let names = all.map(|variance| variance.to_string()).join(", ");
        PyValueError::new_err(format!("there is no variance `{name}`; there are {names}"))
    })
}

/// A program that declares variances only.
struct Declared(HashMap<Name, Vec<Variance>>);

impl Program<Boxed> for Declared {
    fn variance(&self, cx: &Boxed, name: Name, index: usize) -> Variance {
        let declared = self.0.get(&name).and_then(|list| list.get(index)).copied();
        declared.unwrap_or_else(|| NoProgram.variance(cx, name, index))
    }

    fn normalize(&self, cx: &Boxed, alias: AliasTy<'_, Boxed>) -> Normalized<typeloom::term::Ty> {
        NoProgram.normalize(cx, alias)
    }

    fn equate(&self, cx: &Boxed, a: &Const<Boxed>, b: &Const<Boxed>) -> ConstEquation {
        NoProgram.equate(cx, a, b)
    }
}

/// Parses a type.
#[pyfunction]
pub(crate) fn parse_term(
    text: &str,
    symbols: &Bound<'_, Symbols>,
    types: Vec<String>,
    consts: Vec<String>,
    auto_traits: Vec<String>,
) -> PyResult<Ty> {
    fn names(list: &[String]) -> impl Iterator<Item = &str> {
        list.iter().map(String::as_str)
    }
    let scope = Scope::new().types(names(&types)).consts(names(&consts)).auto_traits(names(&auto_traits));
    let term = parse_ty(&Boxed::new(), &mut symbols.borrow_mut().0, &scope, text).map_err(core_error)?;
    Ok(Ty { term, symbols: symbols.clone().unbind() })
}
