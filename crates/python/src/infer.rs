//! Inference: terms with variables, which relations determine.
//!
//! **Invariant:** a failed relation leaves the table unchanged. **Invariant:** a relation refuses variables
//! that the table did not create. The Rust table treats them as unbound variables and cannot bind them.

use std::collections::HashMap;
use std::ops::ControlFlow;

use pyo3::prelude::*;
use typeloom::term::infer::{InferenceTable as Table, Obligation};
use typeloom::term::{Boxed, GenericArg, Reason};
use typeloom_project::parts::term::binder::VarKind;
use typeloom_project::parts::term::leaf::Leaf;
use typeloom_project::parts::term::visit::VisitState;
use typeloom_project::parts::term::{Flags, InferVar, Meta, Name, TermError, Visit as _, Visitor};

use crate::error::core_error;
use crate::term::{Declared, Symbols, Ty, region_facts, variance};

/// Variables with what relations have determined about them.
#[pyclass(module = "typeloom._core")]
pub(crate) struct InferenceTable {
    table: Table<Boxed>,
    undecided: Vec<Obligation<Boxed>>,
    program: Declared,
    symbols: Py<Symbols>,
}

#[pymethods]
impl InferenceTable {
    #[new]
    fn new(symbols: &Bound<'_, Symbols>, variances: HashMap<String, Vec<String>>) -> PyResult<Self> {
        let program = Declared::new(&mut symbols.borrow_mut().0, &variances)?;
        let (table, symbols) = (Table::new(Boxed::new()), symbols.clone().unbind());
        Ok(Self { table, undecided: Vec::new(), program, symbols })
    }

    fn __len__(&self) -> usize {
        self.table.len()
    }

    fn new_ty_var(&mut self, py: Python<'_>) -> PyResult<Ty> {
        let ty = self.table.new_ty_var().map_err(core_error)?;
        Ok(Ty::new(ty, &self.symbols, py))
    }

    /// Requires a relation of two terms, and retries the undecided parts of earlier ones. The reason of an
    /// error, or `None`.
    fn relate(&mut self, py: Python<'_>, direction: &str, a: &Ty, b: &Ty) -> PyResult<Option<String>> {
        let (direction, a, b) = (variance(direction)?, a.within(&self.symbols)?, b.within(&self.symbols)?);
        let mut unknown = Unknown::new(&mut self.table).map_err(core_error)?;
        for term in [a, b] {
            if let ControlFlow::Break(variable) = term.visit_with(&mut unknown) {
                return Err(core_error(format!("the table did not create the variable `{variable}`")));
            }
        }
        let (table, program) = (&mut self.table, &self.program);
        let snapshot = table.snapshot();
        let related = table.relate(program, direction, a, b).and_then(|undecided| {
            let earlier = self.undecided.iter().cloned();
            table.retry(program, earlier.chain(undecided).collect())
        });
        match related {
            Ok(undecided) => {
                table.commit(snapshot);
                self.undecided = undecided;
                Ok(None)
            }
            Err(error) => {
                table.rollback_to(snapshot);
                Ok(Some(Reason::Types(error).describe(&self.symbols.borrow(py).0)))
            }
        }
    }

    /// The undecided parts of relations.
    #[getter]
    fn undecided(&self, py: Python<'_>) -> Vec<String> {
        let symbols = &self.symbols.borrow(py).0;
        self.undecided
            .iter()
            .map(|part| typeloom_project::parts::term::print::obligation(part, symbols))
            .collect()
    }

    /// The first lifetime that does not live long enough.
    fn region_error(&self, py: Python<'_>, outlives: Vec<(String, String)>) -> PyResult<Option<String>> {
        let mut symbols = self.symbols.borrow_mut(py);
        let facts = region_facts(&mut symbols.0, &outlives)?;
        let error = self.table.regions().check(&facts).err();
        Ok(error.map(|error| Reason::Regions(error).describe(&symbols.0)))
    }

    /// The term with the values of its variables.
    fn resolve(&self, py: Python<'_>, ty: &Ty) -> PyResult<Ty> {
        let term = self.table.resolve(ty.within(&self.symbols)?).map_err(core_error)?;
        Ok(Ty::new(term, &self.symbols, py))
    }
}

/// Finds a variable that a table did not create.
struct Unknown {
    types: u32,
    regions: u32,
    consts: u32,
    state: VisitState,
}

impl Unknown {
    fn new(table: &mut Table<Boxed>) -> Result<Self, TermError> {
        // The number of the next variable is the count of variables.
        let count = |arg: GenericArg<Boxed>| match arg.leaf() {
            Some(Leaf::Infer(InferVar::Var(number))) => number,
            _ => 0,
        };
        table.probe(|table| {
            let types = count(table.new_ty_var()?.into());
            let regions = count(table.new_region_var()?.into());
            let consts = count(table.new_const_var()?.into());
            Ok(Self { types, regions, consts, state: VisitState::default() })
        })
    }
}

impl Visitor<Boxed> for Unknown {
    type Break = String;

    fn state(&mut self) -> &mut VisitState {
        &mut self.state
    }

    fn skip(&self, meta: Meta) -> bool {
        !meta.flags.intersects(Flags::INFER)
    }

    fn visit_leaf(&mut self, kind: VarKind, leaf: Leaf<Name>) -> ControlFlow<String> {
        let count = match kind {
            VarKind::Ty => self.types,
            VarKind::Region => self.regions,
            VarKind::Const => self.consts,
        };
        match leaf {
            Leaf::Infer(InferVar::Var(number)) if number < count => ControlFlow::Continue(()),
            Leaf::Infer(InferVar::Var(number) | InferVar::Canonical(number)) => {
                ControlFlow::Break(format!("?{number}"))
            }
            Leaf::Bound(_) | Leaf::Placeholder(_) | Leaf::Error(_) => ControlFlow::Continue(()),
        }
    }
}
