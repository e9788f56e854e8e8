//! Terms: types with Rust's equality and subtyping.
//!
//! **Invariant:** a term refers to the table of the names in it, and is related only to terms of the same
//! table.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use typeloom::pool::{Idx, Pool};
use typeloom::term::infer::{NoProgram, Variance};
use typeloom::term::{
    Boxed, Const, GenericArg, Name, RegionFacts, Scope, TyData, check_subtype, parse_ty, print,
};
use typeloom_project::parts::term::print::Printer;
use typeloom_project::parts::term::program::{ConstEquation, Normalized};
use typeloom_project::parts::term::subst::replace_params;
use typeloom_project::parts::term::{AliasTy, Flags, Program};

use crate::error::core_error;

/// A table of names: of nominal types, parameters and lifetimes. Terms are related only to terms of the same
/// table.
///
/// >>> from typeloom import term
/// >>> symbols = term.Symbols()
/// >>> term.parse("Vec<u8>", symbols=symbols) == term.parse("Vec<u8>", symbols=symbols)
/// True
#[pyclass(module = "typeloom.term")]
pub(crate) struct Symbols(pub(crate) typeloom::term::Symbols);

#[pymethods]
impl Symbols {
    #[new]
    fn new() -> Self {
        Self(typeloom::term::Symbols::new())
    }
}

/// A type as a term.
#[pyclass(module = "typeloom._core", frozen)]
pub(crate) struct Ty {
    pub(crate) term: typeloom::term::Ty,
    symbols: Py<Symbols>,
}

impl Ty {
    /// A term with its table of names.
    pub(crate) fn new(term: typeloom::term::Ty, symbols: &Py<Symbols>, py: Python<'_>) -> Self {
        Self { term, symbols: symbols.clone_ref(py) }
    }

    /// The term, which must have this table of names.
    pub(crate) fn within(&self, symbols: &Py<Symbols>) -> PyResult<&typeloom::term::Ty> {
        if self.symbols.is(symbols) {
            Ok(&self.term)
        } else {
            Err(core_error("the terms have different symbols"))
        }
    }

    /// The term of a type of a pool.
    pub(crate) fn of_pool(pool: &Pool, ty: Idx, symbols: &Bound<'_, Symbols>) -> PyResult<Self> {
        let term = pool.term(&Boxed::new(), &mut symbols.borrow_mut().0, ty).map_err(core_error)?;
        Ok(Self { term, symbols: symbols.clone().unbind() })
    }

    /// Interns the term.
    pub(crate) fn intern(&self, py: Python<'_>, pool: &mut Pool) -> PyResult<Idx> {
        pool.intern_term(&Boxed::new(), &self.symbols.borrow(py).0, &self.term).map_err(core_error)
    }

    /// The other term, which must have the same table of names.
    fn related<'a>(&self, other: &'a Self) -> PyResult<&'a typeloom::term::Ty> {
        other.within(&self.symbols)
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

    /// The name of the variant of `TyData`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.term.data() {
            TyData::Apply(_) => "Apply",
            TyData::Placeholder(_) => "Placeholder",
            TyData::InferenceVar(_) => "InferenceVar",
            TyData::Dyn(_) => "Dyn",
            TyData::Fn(_) => "Fn",
            TyData::GeneratorWitness(_) => "GeneratorWitness",
            TyData::Alias(_) => "Alias",
            TyData::BoundVariable(_) => "BoundVariable",
            TyData::Error(_) => "Error",
        }
    }

    /// The arguments of an application or alias: types, and the text of lifetimes and constants.
    #[getter]
    fn args<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let args: &[GenericArg<Boxed>] = match self.term.data() {
            TyData::Apply(apply) => apply.args,
            TyData::Alias(alias) => alias.args,
            TyData::Placeholder(_)
            | TyData::InferenceVar(_)
            | TyData::Dyn(_)
            | TyData::Fn(_)
            | TyData::GeneratorWitness(_)
            | TyData::BoundVariable(_)
            | TyData::Error(_) => &[],
        };
        let convert = |arg: &GenericArg<Boxed>| match arg {
            GenericArg::Ty(ty) => Ok(Bound::new(py, Self::new(ty.clone(), &self.symbols, py))?.into_any()),
            GenericArg::Region(_) | GenericArg::Const(_) => {
                let text = Printer::new(&self.symbols.borrow(py).0).arg(arg);
                Ok(text.into_pyobject(py)?.into_any())
            }
        };
        args.iter().map(convert).collect()
    }

    /// The type with types instead of parameters.
    fn substitute(&self, py: Python<'_>, parameters: HashMap<String, PyRef<'_, Self>>) -> PyResult<Self> {
        let mut replacements = HashMap::new();
        for (name, ty) in &parameters {
            let ty = self.related(ty)?.clone();
            replacements.insert(Name::Param(self.symbols.borrow_mut(py).0.intern(name)), ty);
        }
        let lookup = |name| replacements.get(&name).cloned().map(GenericArg::Ty);
        let term = replace_params(&Boxed::new(), &self.term, lookup).map_err(core_error)?;
        Ok(Self::new(term, &self.symbols, py))
    }

    /// The reason for which this type is no subtype of another one; `None` if it is one. `outlives` are pairs
    /// of lifetimes, and `variances` those of the parameters of nominal types.
    fn subtype_error(
        &self,
        py: Python<'_>,
        other: &Self,
        outlives: Vec<(String, String)>,
        variances: HashMap<String, Vec<String>>,
    ) -> PyResult<Option<String>> {
        let other = self.related(other)?;
        if [&self.term, other].iter().any(|ty| ty.meta().flags.intersects(Flags::INFER)) {
            return Err(core_error("a type with variables is related in an InferenceTable"));
        }
        let mut symbols = self.symbols.borrow_mut(py);
        let facts = region_facts(&mut symbols.0, &outlives)?;
        let program = Declared::new(&mut symbols.0, &variances)?;
        let found = check_subtype(&Boxed::new(), &program, &facts, &self.term, other);
        Ok(found.err().map(|reason| reason.describe(&symbols.0)))
    }
}

/// Pairs of a lifetime and one that it outlives.
pub(crate) fn region_facts(
    symbols: &mut typeloom::term::Symbols,
    outlives: &[(String, String)],
) -> PyResult<RegionFacts<Boxed>> {
    let mut facts = RegionFacts::new();
    for (longer, shorter) in outlives {
        facts.assume(region(symbols, longer)?, region(symbols, shorter)?);
    }
    Ok(facts)
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
        Some(region) if Printer::new(symbols).arg::<Boxed>(&region.into()) == text => Ok(region),
        _ => Err(PyValueError::new_err(format!("`{text}` is no lifetime, such as 'a"))),
    }
}

/// The variance with a name.
pub(crate) fn variance(name: &str) -> PyResult<Variance> {
    let all = [Variance::Covariant, Variance::Contravariant, Variance::Invariant, Variance::Bivariant];
    let found = all.into_iter().find(|variance| variance.to_string() == name);
    found.ok_or_else(|| {
        let names = all.map(|variance| variance.to_string()).join(", ");
        PyValueError::new_err(format!("there is no variance `{name}`; there are {names}"))
    })
}

/// A program that declares variances only.
pub(crate) struct Declared(HashMap<Name, Vec<Variance>>);

impl Declared {
    /// Reads the names of the variances of each nominal type.
    pub(crate) fn new(
        symbols: &mut typeloom::term::Symbols,
        variances: &HashMap<String, Vec<String>>,
    ) -> PyResult<Self> {
        let mut declared = HashMap::new();
        for (name, list) in variances {
            let list: PyResult<Vec<Variance>> = list.iter().map(|one| variance(one)).collect();
            declared.insert(Name::Adt(symbols.intern(name)), list?);
        }
        Ok(Self(declared))
    }
}

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
