//! The symbols of the result, and their substitution in declared types.
//!
//! Symbols of the first model keep their names; narrowing replaces some by values. A symbol of the second
//! model that a connection determines becomes an extent of the first model. Any other keeps its name, or gets
//! a new one if the first model has the name.
//!
//! An extent of the first model can have no name. Then the symbol of the second model that meets it names it
//! in the result, so that the axes of the second model stay equal.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use typeloom_dim::{DimId, Dims, is_placeholder};
use typeloom_onnx::messages::tensor_shape_proto::dimension;
use typeloom_rewrite::names::Names;

use crate::plan::Rename;
use crate::scan::Scan;
use crate::source::Source;
use crate::unify::Unifier;

/// The extents of the symbols of one model in the result.
pub(crate) struct Symbols {
    /// The arena of `values`.
    dims: Dims,
    /// The symbols that change.
    values: HashMap<String, DimId>,
    /// The new forms of texts; `None` for an unchanged one.
    texts: HashMap<String, Option<dimension::Value>>,
}

/// A symbol of one model that is another extent in the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substitution {
    /// The model.
    pub file: String,
    /// The symbol in that model.
    pub symbol: String,
    /// The extent in the result.
    pub value: String,
}

/// The symbols of both models, after unification.
pub(crate) struct SymbolPlan {
    pub(crate) symbols: [Symbols; 2],
    /// The symbols that name hidden leaves and other unnamed extents of the first model.
    pub(crate) named: IndexMap<DimId, DimId>,
    pub(crate) substitutions: Vec<Substitution>,
    pub(crate) renames: Vec<Rename>,
}

impl SymbolPlan {
    pub(crate) fn new(unifier: &mut Unifier<'_, '_>, models: [&Source<'_>; 2], scans: &[Scan; 2]) -> Self {
        let mut names = Names::default();
        scans.iter().flat_map(|scan| &scan.symbols).for_each(|name| names.take(name));
        let mut plan = Self {
            symbols: [Symbols::empty(), Symbols::empty()],
            named: IndexMap::new(),
            substitutions: Vec::new(),
            renames: Vec::new(),
        };
        let narrowed: Vec<(DimId, DimId)> = unifier.narrowed.iter().map(|(a, b)| (*a, *b)).collect();
        let first_names = &scans[0].symbols;
        // The name of each symbol of the second model that keeps one.
        let mut own_name = |symbol: &str, renames: &mut Vec<Rename>| -> String {
            if !first_names.contains(symbol) {
                return symbol.to_owned();
            }
            let name = names.fresh(symbol);
            let file = models[1].name.to_owned();
            renames.push(Rename { file, kind: "symbol", from: symbol.to_owned(), to: name.clone() });
            name
        };
        let mut second: HashMap<String, DimId> = HashMap::new();
        let open = unifier.open_symbols();
        // Free symbols and those that name a hidden leaf come first, because expressions refer to them.
        for (symbol, variable) in &open {
            let dim = unifier.normal(*variable);
            if unifier.dims.is_variable(dim) {
                let name = own_name(symbol, &mut plan.renames);
                let named = unifier.dims.symbol(&name);
                unifier.dims.bind(dim, named);
                second.insert(symbol.clone(), named);
            } else if unifier.is_hidden(dim) && !plan.named.contains_key(&dim) {
                let name = own_name(symbol, &mut plan.renames);
                let named = unifier.dims.symbol(&name);
                plan.named.insert(dim, named);
            }
        }
        for (symbol, variable) in &open {
            if second.contains_key(symbol) {
                continue;
            }
            let mut dim = unifier.normal(*variable);
            let named: Vec<(DimId, DimId)> = plan.named.iter().map(|(a, b)| (*a, *b)).collect();
            dim = plan.named.get(&dim).copied().unwrap_or_else(|| unifier.dims.substitute(dim, &named));
            let unnamed = unifier.dims.symbols_of(dim).iter().any(|leaf| unifier.is_hidden(*leaf))
                || unifier.dims.is_anonymous(dim);
            if unnamed {
                let name = own_name(symbol, &mut plan.renames);
                let name = unifier.dims.symbol(&name);
                plan.named.insert(dim, name);
                dim = name;
            }
            second.insert(symbol.clone(), dim);
        }
        for symbol in scans[1].symbols.iter().filter(|symbol| first_names.contains(*symbol)) {
            if !second.contains_key(symbol) {
                let name = own_name(symbol, &mut plan.renames);
                let named = unifier.dims.symbol(&name);
                second.insert(symbol.clone(), named);
            }
        }
        let first: HashMap<String, DimId> = narrowed
            .iter()
            .filter_map(|(symbol, value)| {
                let name = unifier.dims.as_symbol(*symbol)?.to_owned();
                Some((name, *value))
            })
            .collect();
        let first: HashMap<String, DimId> =
            first.into_iter().map(|(name, value)| (name, unifier.dims.resolve(value))).collect();
        for (symbol, value) in narrowed {
            let value = unifier.dims.resolve(value);
            let file = models[0].name.to_owned();
            let (symbol, value) = (unifier.shown(symbol), unifier.shown(value));
            plan.substitutions.push(Substitution { file, symbol, value });
        }
        let renamed: HashSet<&str> = plan.renames.iter().map(|rename| rename.from.as_str()).collect();
        for (symbol, _) in &open {
            let Some(dim) = second.get(symbol) else { continue };
            let is_renamed = renamed.contains(symbol.as_str());
            let value = unifier.shown(*dim);
            if !is_renamed && value != *symbol {
                let file = models[1].name.to_owned();
                plan.substitutions.push(Substitution { file, symbol: symbol.clone(), value });
            }
        }
        let symbols = |values| Symbols { dims: unifier.dims.clone(), values, texts: HashMap::new() };
        plan.symbols = [symbols(first), symbols(second)];
        plan
    }
}

impl Symbols {
    fn empty() -> Self {
        Self { dims: Dims::new(), values: HashMap::new(), texts: HashMap::new() }
    }

    /// Substitutes the symbols of a declared extent.
    pub(crate) fn substitute(&mut self, extent: &mut Option<dimension::Value>) {
        let Some(dimension::Value::DimParam(text)) = extent else { return };
        if self.values.is_empty() || text.is_empty() || is_placeholder(text) {
            return;
        }
        let new = match self.texts.get(text.as_str()) {
            Some(new) => new.clone(),
            None => {
                let new = self.new_text(text);
                self.texts.insert(text.clone(), new.clone());
                new
            }
        };
        if let Some(new) = new {
            *extent = Some(new);
        }
    }

    fn new_text(&mut self, text: &str) -> Option<dimension::Value> {
        let mut own = Dims::new();
        // A text that is no expression is a symbol.
        let dim = own.parse(text).unwrap_or_else(|_| own.symbol(text));
        let changes = |leaf: &DimId| {
            let name = own.as_symbol(*leaf).unwrap_or_default();
            let value = self.values.get(name)?;
            (self.dims.as_symbol(*value) != Some(name)).then_some(())
        };
        own.symbols_of(dim).iter().find_map(changes)?;
        let values = &self.values;
        let dim = self.dims.copy_from(&own, dim, &mut |dims, leaf| match own.as_symbol(leaf) {
            Some(name) => values.get(name).copied().unwrap_or_else(|| dims.symbol(name)),
            None => dims.fresh(),
        });
        extent(&self.dims, dim)
    }
}

/// A dim as a declared extent; `None` if it has none.
pub(crate) fn extent(dims: &Dims, dim: DimId) -> Option<dimension::Value> {
    if let Some(value) = dims.as_constant(dim) {
        return (value >= 0).then_some(dimension::Value::DimValue(value));
    }
    Some(dimension::Value::DimParam(dims.display(dim).to_string()))
}
