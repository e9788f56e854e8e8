//! Declared types of functions at their calls.
//!
//! A function is typed for each call, so the symbols of its declarations belong to the call: a parameter that
//! is declared as `float[N]` takes a `float[2]`, and a `float[3]` in another call. A declared parameter
//! becomes a value of its own, so that its type does not declare the argument, which other nodes read. An
//! argument that is an undeclared input of the program is the exception: the parameter declares it, and its
//! symbols become symbols of the program.
//!
//! | symbol of the function | at a call |
//! |---|---|
//! | all parameters with it take undeclared inputs | a symbol of the program, with a new name if the name is in use |
//! | no parameter has it, and its name is not in use | a symbol of the program |
//! | other | unknown: the solver derives the extents from the arguments |

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use typeloom_program::declared::DeclaredType;
use typeloom_program::program::{Port, Program, ValueId};
use typeloom_tensor::value_type::{Dim, Element, ValueType};

/// The inputs of a program without types, and the symbols in use.
#[derive(Default)]
pub(super) struct Declarations {
    undeclared: HashSet<ValueId>,
    symbols: HashSet<String>,
    /// Types that calls declare for inputs.
    pub(super) inputs: HashMap<ValueId, DeclaredType>,
}

/// The symbols of a function at a call; `None` for an unknown extent.
pub(super) type Symbols = BTreeMap<String, Option<String>>;

impl Declarations {
    pub(super) fn of(program: &Program) -> Self {
        let mut all = Self::default();
        let main = program.main();
        all.undeclared.extend(program[main].inputs.iter().map(|input| input.value));
        for port in program.graphs_in(main).into_iter().flat_map(|graph| program[graph].ports()) {
            let Some(ty) = &port.declared else { continue };
            all.undeclared.remove(&port.value);
            each_symbol(&ty.value_type(), &mut |symbol| {
                all.symbols.insert(symbol.to_owned());
            });
        }
        all
    }

    /// The symbols of a function at a call: of its declared types, by its parameters and the arguments.
    pub(super) fn symbols(
        &mut self,
        infos: &[Port],
        parameters: &[ValueId],
        arguments: &[Option<ValueId>],
    ) -> Symbols {
        // Whether all parameters with the symbol take undeclared inputs; `None` without a parameter.
        let mut all: BTreeMap<String, Option<bool>> = BTreeMap::new();
        for info in infos {
            let Some(ty) = &info.declared else { continue };
            let at = parameters.iter().position(|formal| *formal == info.value);
            let is_open = at.map(|at| {
                let argument = arguments.get(at).copied().flatten();
                argument.is_some_and(|argument| self.undeclared.contains(&argument))
            });
            each_symbol(&ty.value_type(), &mut |symbol| {
                let known = all.entry(symbol.to_owned()).or_default();
                *known = match (*known, is_open) {
                    (Some(known), Some(is_open)) => Some(known && is_open),
                    (known, is_open) => known.or(is_open),
                };
            });
        }
        let name = |(symbol, is_open): (String, Option<bool>)| {
            let name = match is_open {
                Some(true) => Some(self.fresh(&symbol)),
                None if !self.symbols.contains(&symbol) => Some(self.fresh(&symbol)),
                Some(false) | None => None,
            };
            (symbol, name)
        };
        all.into_iter().map(name).collect()
    }

    /// A name for a symbol that no other symbol has.
    fn fresh(&mut self, symbol: &str) -> String {
        let numbered = (2..).map(|number| format!("{symbol}_{number}"));
        let mut names = std::iter::once(symbol.to_owned()).chain(numbered);
        let name = names.find(|name| !self.symbols.contains(name)).unwrap_or_default();
        self.symbols.insert(name.clone());
        name
    }

    /// Declares an undeclared input of the program; returns whether the argument is one.
    pub(super) fn declare(&mut self, argument: ValueId, ty: &DeclaredType, symbols: &Symbols) -> bool {
        let is_open = self.undeclared.remove(&argument);
        if is_open {
            self.inputs.insert(argument, at_call(ty, symbols));
        }
        is_open
    }
}

/// A declared type of a function with the symbols of a call.
pub(super) fn at_call(ty: &DeclaredType, symbols: &Symbols) -> DeclaredType {
    let own = ty.value_type();
    let mut differs = false;
    each_symbol(&own, &mut |symbol| differs |= symbols.get(symbol) != Some(&Some(symbol.to_owned())));
    if differs { DeclaredType::from(&mapped(&own, symbols)) } else { ty.clone() }
}

fn each_symbol(ty: &ValueType, see: &mut dyn FnMut(&str)) {
    for dim in ty.shape.as_deref().unwrap_or_default() {
        match dim {
            Dim::Unknown | Dim::Fixed(_) => {}
            Dim::Symbol(name) => see(name),
            Dim::Expression(expression) => expression.symbols().iter().for_each(|name| see(name)),
        }
    }
    match &ty.element {
        Element::Opaque | Element::Tensor(_) | Element::Sparse(_) | Element::Scalar(_) => {}
        Element::Sequence(inner) | Element::Optional(inner) | Element::Map(_, inner) => {
            each_symbol(inner, see);
        }
        Element::Composite(composite) => {
            composite.children.iter().for_each(|(_, child)| each_symbol(child, see));
        }
    }
}

fn mapped(ty: &ValueType, symbols: &Symbols) -> ValueType {
    let dim = |dim: &Dim| match dim {
        Dim::Unknown | Dim::Fixed(_) => dim.clone(),
        Dim::Symbol(name) => match symbols.get(&**name) {
            Some(Some(name)) => Dim::Symbol(name.as_str().into()),
            Some(None) | None => Dim::Unknown,
        },
        Dim::Expression(expression) => {
            let is_same =
                |name: &Arc<str>| symbols.get(&**name).is_some_and(|to| to.as_deref() == Some(&**name));
            if expression.symbols().iter().all(is_same) { dim.clone() } else { Dim::Unknown }
        }
    };
    let inner = |inner: &ValueType| Arc::new(mapped(inner, symbols));
    let element = match &ty.element {
        Element::Opaque | Element::Tensor(_) | Element::Sparse(_) | Element::Scalar(_) => ty.element.clone(),
        Element::Sequence(ty) => Element::Sequence(inner(ty)),
        Element::Optional(ty) => Element::Optional(inner(ty)),
        Element::Map(key, ty) => Element::Map(*key, inner(ty)),
        Element::Composite(composite) => {
            Element::Composite(Arc::new(composite.map(|ty| mapped(ty, symbols))))
        }
    };
    let shape = ty.shape.as_ref().map(|shape| shape.iter().map(dim).collect());
    ValueType { node: ty.node, element, shape }
}
