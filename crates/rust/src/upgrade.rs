//! Old types in terms of the new definitions.
//!
//! A type or trait that gained parameters with defaults is still written with fewer arguments by everybody who used it
//! before. So the old items are read as they would be today: with the defaults filled in.

use std::collections::HashMap;

use typeloom_term::fold::{FoldState, super_fold_ty};
use typeloom_term::subst::replace_params;
use typeloom_term::{
    AliasTy, ApplicationTy, Boxed, Fold, Folder, GenericArg, Meta, Name, Symbol, Symbols, TermError, Ty,
    TyData,
};

use crate::item::{Item, Kind, Param};

/// What some names gained.
pub(crate) struct Upgrade {
    gained: HashMap<Symbol, (usize, Vec<Param>)>,
    cx: Boxed,
}

impl Upgrade {
    /// The definitions that have more parameters than before, all of the additional ones with defaults.
    pub(crate) fn new(old: &[Item], new: &[Item], symbols: &Symbols) -> Self {
        let is_definition =
            |item: &&Item| matches!(item.kind, Kind::Struct | Kind::Enum | Kind::Union | Kind::Trait);
        let before: HashMap<&str, usize> =
            old.iter().filter(is_definition).map(|item| (item.path.as_str(), item.params.len())).collect();
        let mut gained = HashMap::new();
        for item in new.iter().filter(is_definition) {
            let Some(count) = before.get(item.path.as_str()).copied() else { continue };
            let more = item.params.get(count..).unwrap_or_default();
            if let (Some(symbol), false) = (symbols.get(&item.path), more.is_empty())
                && more.iter().all(|param| param.default.is_some())
            {
                gained.insert(symbol, (count, item.params.clone()));
            }
        }
        Self { gained, cx: Boxed::new() }
    }

    /// An item as it would be read today.
    pub(crate) fn item(&self, item: &mut Item, symbols: &Symbols) -> Result<(), TermError> {
        if self.gained.is_empty() {
            return Ok(());
        }
        // A projection carries the arguments of its trait.
        let mut projections = HashMap::new();
        for (symbol, gained) in &self.gained {
            projections.insert(symbols.resolve(*symbol).to_owned(), gained);
        }
        let mut fold =
            Fill { gained: &self.gained, projections, symbols, cx: &self.cx, state: FoldState::default() };
        for part in &mut item.parts {
            part.ty = part.ty.try_fold_with(&mut fold)?;
        }
        for list in [&mut item.predicates, &mut item.promises, &mut item.context] {
            for predicate in list.iter_mut() {
                *predicate = predicate.try_fold_with(&mut fold)?;
            }
        }
        Ok(())
    }
}

struct Fill<'u> {
    gained: &'u HashMap<Symbol, (usize, Vec<Param>)>,
    projections: HashMap<String, &'u (usize, Vec<Param>)>,
    symbols: &'u Symbols,
    cx: &'u Boxed,
    state: FoldState<Boxed>,
}

impl Fill<'_> {
    fn filled(
        &self,
        gained: &(usize, Vec<Param>),
        args: &[GenericArg<Boxed>],
    ) -> Result<Option<Vec<GenericArg<Boxed>>>, TermError> {
        let (count, params) = gained;
        if args.len() != *count {
            return Ok(None);
        }
        let mut args = args.to_vec();
        for param in params.iter().skip(*count) {
            let Some(default) = &param.default else { continue };
            let lookup = |name: Name| {
                let index = params.iter().position(|param| Name::Param(param.symbol) == name)?;
                args.get(index).cloned()
            };
            args.push(replace_params(self.cx, default, lookup)?);
        }
        Ok(Some(args))
    }
}

impl Folder<Boxed> for Fill<'_> {
    type Error = TermError;

    fn cx(&self) -> &Boxed {
        self.cx
    }

    fn state(&mut self) -> &mut FoldState<Boxed> {
        &mut self.state
    }

    fn skip(&self, _meta: Meta) -> bool {
        false
    }

    fn fold_ty(&mut self, ty: &Ty<Boxed>) -> Result<Ty<Boxed>, TermError> {
        let folded = super_fold_ty(ty, self)?;
        match folded.data() {
            TyData::Apply(ApplicationTy { name: name @ (Name::Adt(symbol) | Name::Trait(symbol)), args }) => {
                if let Some(gained) = self.gained.get(&symbol)
                    && let Some(args) = self.filled(gained, args)?
                {
                    return Ty::apply(self.cx, name, &args);
                }
            }
            TyData::Alias(AliasTy { name: name @ Name::Projection(symbol), args }) => {
                let of = self.symbols.resolve(symbol).rsplit_once("::").map_or("", |(of, _)| of);
                if let Some(gained) = self.projections.get(of)
                    && let Some(args) = self.filled(gained, args)?
                {
                    return Ty::alias(self.cx, name, &args);
                }
            }
            _ => {}
        }
        Ok(folded)
    }
}
