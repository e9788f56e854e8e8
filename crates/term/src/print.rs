//! Printing of types, in Rust's syntax as far as it has one.
//!
//! Tensor types print as `Tensor<f32, [N, 3, 224, 224]>`, those of unknown rank as `Tensor<f32>`. Terms
//! without Rust syntax have the following notation, which [`crate::parse`] accepts:
//!
//! | notation | meaning |
//! |---|---|
//! | `?0`, `'?0`, `?#0` | variable of a table: type, region, constant; `?c0` and so on: canonical variable |
//! | `!1.0`, `'!1.0`, `!#1.0` | placeholder: universe and index; messages generate names for placeholders |
//! | `^0.1`, `'^0.1`, `^#0.1` | variable of a binder outside the printed term: depth and index |
//! | `{closure path<T>}` | unnameable kinds of types: `fn`, `closure`, `coroutine`, ... |
//! | `dyn Tr + ~Super<Item = T>` | associated type of a trait that is not itself a bound, such as `Output` of `FnOnce` in `Fn(A) -> B` |
//! | `{forall for<'x> fn(P) -> R}` | statement under conditions: a generic item, a predicate under a binder |
//!
//! Bound variables have no names in a term; the printer generates names that the term does not use, see
//! [`VariableNames`].
//!
//! **Invariant:** the output is bounded. After [`Printer::limit`] parts, the rest is an ellipsis, since a
//! term that is small as a graph can be exponentially large as text.

mod message;
mod names;

pub use message::{goal, obligation, region_error, type_error};
pub use names::{NameScope, VariableNames};

use crate::arg::GenericArg;
use crate::binder::{Arity, BoundVar, DebruijnIndex, PerKind, VarKind};
use crate::constant::{Const, ConstData};
use crate::family::TypeFamily;
use crate::leaf::Leaf;
use crate::name::{Abi, Mutability, Name, Safety, Symbol, Symbols, Variadic};
use crate::region::Region;
use crate::ty::{
    AliasTy, ApplicationTy, DynBound, DynBoundKind, DynTy, FnTy, InferVar, Placeholder, PlaceholderId, Ty,
    TyData, WitnessTy,
};
use names::PlaceholderNames;

/// Default number of printed parts.
pub const DEFAULT_LIMIT: usize = 10_000;

/// Prints a type.
#[must_use]
pub fn rust<F: TypeFamily<Name = Name>>(ty: &Ty<F>, symbols: &Symbols) -> String {
    Printer::new(symbols).ty(ty)
}

/// Prints terms, with names from a symbol table.
#[derive(Debug)]
pub struct Printer<'s> {
    symbols: &'s Symbols,
    out: String,
    left: usize,
    /// Whether the ellipsis was printed.
    truncated: bool,
    binders: Vec<(Names, NameScope)>,
    names: VariableNames,
    /// Names of placeholders of relations. Without an entry, a placeholder is printed as a sigil.
    placeholders: PlaceholderNames,
}

/// The names of one binder's variables.
type Names = PerKind<Vec<String>>;

/// Syntactic position of a type; determines parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Standalone or between commas.
    Free,
    /// Operand of `&` or `*const`.
    Operand,
}

impl<'s> Printer<'s> {
    /// Creates a printer that resolves names in `symbols`.
    #[must_use]
    pub fn new(symbols: &'s Symbols) -> Self {
        Self {
            symbols,
            out: String::new(),
            left: DEFAULT_LIMIT,
            truncated: false,
            binders: Vec::new(),
            names: VariableNames::default(),
            placeholders: PlaceholderNames::new(),
        }
    }

    /// Limits the number of printed parts of a term.
    #[must_use]
    pub fn limit(mut self, parts: usize) -> Self {
        self.left = parts;
        self
    }

    /// Prints a type.
    #[must_use]
    pub fn ty<F: TypeFamily<Name = Name>>(self, ty: &Ty<F>) -> String {
        self.arg(&GenericArg::Ty(ty.clone()))
    }

    /// Prints an argument.
    #[must_use]
    pub fn arg<F: TypeFamily<Name = Name>>(mut self, arg: &GenericArg<F>) -> String {
        self.names = VariableNames::of(std::slice::from_ref(arg), self.symbols);
        self.print_arg(arg);
        self.out
    }

    /// Prints a constant, without the braces around an expression argument.
    #[must_use]
    pub fn constant<F: TypeFamily<Name = Name>>(mut self, constant: &Const<F>) -> String {
        self.names = VariableNames::of(&[GenericArg::Const(constant.clone())], self.symbols);
        self.print_expr(constant, 0);
        self.out
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Subtracts one part from the limit; prints the ellipsis if none is left.
    fn part(&mut self) -> bool {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                true
            }
            None => {
                if !self.truncated {
                    self.truncated = true;
                    self.push("…");
                }
                false
            }
        }
    }

    fn symbol(&mut self, symbol: Symbol) {
        self.out.push_str(self.symbols.resolve(symbol));
    }

    fn list<T>(&mut self, items: &[T], mut print: impl FnMut(&mut Self, &T)) {
        for (i, item) in items.iter().enumerate() {
            if self.left == 0 {
                self.part();
                return;
            }
            if i > 0 {
                self.push(", ");
            }
            print(self, item);
        }
    }

    fn args<F: TypeFamily<Name = Name>>(&mut self, args: &[GenericArg<F>]) {
        if !args.is_empty() {
            self.enclosed("<", args, ">");
        }
    }

    fn enclosed<F: TypeFamily<Name = Name>>(&mut self, open: &str, args: &[GenericArg<F>], close: &str) {
        self.push(open);
        self.list(args, Self::print_arg);
        self.push(close);
    }

    fn path<F: TypeFamily<Name = Name>>(&mut self, path: Symbol, args: &[GenericArg<F>]) {
        self.symbol(path);
        self.args(args);
    }

    fn print_arg<F: TypeFamily<Name = Name>>(&mut self, arg: &GenericArg<F>) {
        match arg {
            GenericArg::Ty(ty) => self.print_ty(ty, Position::Free),
            GenericArg::Region(region) => self.print_region(*region),
            GenericArg::Const(constant) => self.print_const(constant),
        }
    }

    fn print_ty<F: TypeFamily<Name = Name>>(&mut self, ty: &Ty<F>, position: Position) {
        if !self.part() {
            return;
        }
        let parenthesized =
            position == Position::Operand && matches!(ty.data(), TyData::Fn(_) | TyData::Dyn(_));
        if parenthesized {
            self.push("(");
        }
        match ty.data() {
            TyData::Apply(ApplicationTy { name, args }) => self.print_apply(name, args),
            TyData::Dyn(DynTy { bounds, region }) => self.print_dyn(bounds, region),
            TyData::Fn(FnTy { name, arity, signature }) => self.print_fn(name, arity, signature),
            TyData::GeneratorWitness(WitnessTy { name, arity, types }) => {
                self.push("{witness ");
                self.print_name(name);
                self.push(" ");
                self.under(arity, |this| this.enclosed("(", types, ")"));
                self.push("}");
            }
            TyData::Alias(AliasTy { name, args }) => self.print_alias(name, args),
            leaf @ (TyData::Placeholder(_)
            | TyData::InferenceVar(_)
            | TyData::BoundVariable(_)
            | TyData::Error(_)) => self.print_leaf(VarKind::Ty, leaf.leaf()),
        }
        if parenthesized {
            self.push(")");
        }
    }

    fn print_apply<F: TypeFamily<Name = Name>>(&mut self, name: Name, args: &[GenericArg<F>]) {
        match (name, args) {
            (Name::Tuple, [_]) => self.enclosed("(", args, ",)"),
            (Name::Tuple, _) => self.enclosed("(", args, ")"),
            (Name::Array, [element, len]) => {
                self.push("[");
                self.print_arg(element);
                self.push("; ");
                self.print_arg(len);
                self.push("]");
            }
            (Name::Slice, [_]) => self.enclosed("[", args, "]"),
            (Name::Ref(mutability), [GenericArg::Region(region), GenericArg::Ty(inner)]) => {
                self.push("&");
                self.print_region(*region);
                self.push(if mutability == Mutability::Mutable { " mut " } else { " " });
                self.print_ty(inner, Position::Operand);
            }
            (Name::RawPtr(mutability), [GenericArg::Ty(inner)]) => {
                self.push(if mutability == Mutability::Mutable { "*mut " } else { "*const " });
                self.print_ty(inner, Position::Operand);
            }
            (Name::Tensor(element), dims) => {
                self.push("Tensor<");
                self.symbol(element);
                self.push(", [");
                self.list(dims, |this, dim| match dim {
                    GenericArg::Const(dim) => this.print_expr(dim, 0),
                    GenericArg::Ty(_) | GenericArg::Region(_) => this.print_arg(dim),
                });
                self.push("]>");
            }
            (Name::TensorAnyRank(element), []) => {
                self.push("Tensor<");
                self.symbol(element);
                self.push(">");
            }
            _ => self.print_name_of(name, args),
        }
    }

    /// Prints a name with arguments that has no special syntax.
    fn print_name_of<F: TypeFamily<Name = Name>>(&mut self, name: Name, args: &[GenericArg<F>]) {
        match (name, name.keyword(), name.symbol()) {
            (Name::Adt(path), _, _) => self.path(path, args),
            (_, Some(keyword), Some(path)) if Name::in_braces(keyword).is_some() => {
                self.push("{");
                self.push(keyword);
                self.push(" ");
                self.path(path, args);
                self.push("}");
            }
            _ => {
                self.print_name(name);
                self.args(args);
            }
        }
    }

    fn print_name(&mut self, name: Name) {
        if let Some(text) = name.primitive_text() {
            self.push(text);
            return;
        }
        if let Some(symbol) = name.symbol() {
            self.symbol(symbol);
            return;
        }
        match name {
            Name::Tuple => self.push("{tuple}"),
            Name::Array => self.push("{array}"),
            Name::Slice => self.push("{slice}"),
            Name::Ref(_) => self.push("{reference}"),
            Name::RawPtr(_) => self.push("{pointer}"),
            Name::FnPtr(safety, _, abi) => {
                if safety == Safety::Unsafe {
                    self.push("unsafe ");
                }
                if let Abi::Named(abi) = abi {
                    self.push("extern \"");
                    self.symbol(abi);
                    self.push("\" ");
                }
                self.push("fn");
            }
            Name::UnsafeBinder => self.push("unsafe"),
            Name::Forall => self.push("forall"),
            // Names with a symbol and primitives are printed above.
            _ => {}
        }
    }

    fn print_alias<F: TypeFamily<Name = Name>>(&mut self, name: Name, args: &[GenericArg<F>]) {
        let (Name::Projection(path), [GenericArg::Ty(this), rest @ ..]) = (name, args) else {
            return self.print_name_of(name, args);
        };
        let symbols = self.symbols;
        let Some((of, item)) = symbols.resolve(path).rsplit_once("::") else {
            return self.print_name_of(name, args);
        };
        self.push("<");
        self.print_ty(this, Position::Free);
        self.push(" as ");
        self.push(of);
        self.args(rest);
        self.push(">::");
        self.push(item);
    }

    fn print_fn<F: TypeFamily<Name = Name>>(
        &mut self,
        name: Name,
        arity: Arity,
        signature: &[GenericArg<F>],
    ) {
        let Some((output, inputs)) = signature.split_last() else { return };
        if name == Name::UnsafeBinder {
            self.push("unsafe");
            self.enter(arity);
            self.print_binder_list(arity);
            self.push(" ");
            self.print_arg(output);
            self.leave();
            return;
        }
        if name == Name::Forall {
            self.push("{forall ");
            self.under(arity, |this| {
                this.enclosed("fn(", inputs, ") -> ");
                this.print_arg(output);
            });
            self.push("}");
            return;
        }
        self.under(arity, |this| {
            this.print_name(name);
            this.push("(");
            this.list(inputs, Self::print_arg);
            if let Name::FnPtr(_, Variadic::CVariadic, _) = name {
                this.push(if inputs.is_empty() { "..." } else { ", ..." });
            }
            this.push(")");
            let unit = output.as_ty().is_some_and(|ty| {
                matches!(ty.data(), TyData::Apply(app) if app.name == Name::Tuple && app.args.is_empty())
            });
            if !unit {
                this.push(" -> ");
                this.print_arg(output);
            }
        });
    }

    fn print_dyn<F: TypeFamily<Name = Name>>(&mut self, bounds: &[DynBound<F>], region: Region<F>) {
        self.push("dyn ");
        let mut merged = vec![false; bounds.len()];
        for (i, bound) in bounds.iter().enumerate() {
            if merged.get(i) == Some(&true) {
                continue;
            }
            let DynBound { arity, kind, name, args } = bound;
            let (Name::Trait(of) | Name::Projection(of)) = *name else { continue };
            let path = self.symbols.resolve(of);
            // Associated types of this bound print as its arguments.
            let mut assoc: Vec<(&str, &GenericArg<F>)> = Vec::new();
            let (path, args) = match kind {
                DynBoundKind::Trait | DynBoundKind::AutoTrait => {
                    for (j, other) in bounds.iter().enumerate().skip(i + 1) {
                        if let Some(item) = self.item_of(path, bound, other)
                            && let Some(value) = other.args.last()
                            && let Some(done) = merged.get_mut(j)
                        {
                            *done = true;
                            assoc.push((item, value));
                        }
                    }
                    (path, &**args)
                }
                DynBoundKind::Projection => {
                    self.push("~");
                    let (path, item) = path.rsplit_once("::").unwrap_or((path, ""));
                    let Some((value, args)) = args.split_last() else { continue };
                    assoc.push((item, value));
                    (path, args)
                }
            };
            self.under(*arity, |this| {
                this.push(path);
                if args.is_empty() && assoc.is_empty() {
                    return;
                }
                this.push("<");
                this.list(args, Self::print_arg);
                for (i, (item, value)) in assoc.iter().enumerate() {
                    if i > 0 || !args.is_empty() {
                        this.push(", ");
                    }
                    this.push(item);
                    this.push(" = ");
                    this.print_arg(value);
                }
                this.push(">");
            });
            self.push(" + ");
        }
        self.print_region(region);
    }

    /// Returns the name of the associated item that `other` specifies for the bound `of`.
    fn item_of<F: TypeFamily<Name = Name>>(
        &self,
        path: &str,
        of: &DynBound<F>,
        other: &DynBound<F>,
    ) -> Option<&'s str> {
        let (DynBoundKind::Projection, Name::Projection(symbol)) = (other.kind, other.name) else {
            return None;
        };
        let (of_path, item) = self.symbols.resolve(symbol).rsplit_once("::")?;
        let (_, args) = other.args.split_last()?;
        (of_path == path && other.arity == of.arity && *args == *of.args).then_some(item)
    }

    /// Prints `for<...>` unless the binder is empty, then the body with the bound variables named.
    fn under(&mut self, arity: Arity, body: impl FnOnce(&mut Self)) {
        self.enter(arity);
        if !arity.is_empty() {
            self.push("for");
            self.print_binder_list(arity);
            self.push(" ");
        }
        body(self);
        self.leave();
    }

    fn enter(&mut self, arity: Arity) {
        let scope = self.names.scope();
        let mut list = |count: u16, kind| (0..count).map(|_| self.names.generate(kind)).collect();
        let names = Names {
            regions: list(arity.regions, VarKind::Region),
            types: list(arity.types, VarKind::Ty),
            consts: list(arity.consts, VarKind::Const),
        };
        self.binders.push((names, scope));
    }

    fn leave(&mut self) {
        if let Some((_, scope)) = self.binders.pop() {
            self.names.leave(scope);
        }
    }

    fn print_binder_list(&mut self, arity: Arity) {
        if arity.is_empty() {
            self.push("<>");
            return;
        }
        let Some((names, _)) = self.binders.last() else { return };
        let consts = names.consts.iter().map(|name| format!("const {name}"));
        let all: Vec<String> = names.regions.iter().chain(&names.types).cloned().chain(consts).collect();
        self.out.push_str(&format!("<{}>", all.join(", ")));
    }

    fn print_region<F: TypeFamily<Name = Name>>(&mut self, region: Region<F>) {
        if !self.part() {
            return;
        }
        match region {
            Region::Static => self.push("'static"),
            Region::Erased => self.push("'_"),
            leaf @ (Region::Placeholder(_) | Region::Infer(_) | Region::Bound(_) | Region::Error(_)) => {
                self.print_leaf(VarKind::Region, leaf.leaf());
            }
        }
    }

    fn print_leaf(&mut self, kind: VarKind, leaf: Option<Leaf<Name>>) {
        let text = match leaf {
            None => return,
            Some(Leaf::Placeholder(Placeholder { id: PlaceholderId::Named(name), .. })) => {
                return self.print_name(name);
            }
            Some(Leaf::Placeholder(Placeholder { universe, id: PlaceholderId::Fresh(index) })) => {
                let name = self.placeholders.get(&(kind, universe, index)).cloned();
                name.unwrap_or_else(|| format!("{}.{index}", sigil(kind, '!', universe.0)))
            }
            Some(Leaf::Infer(InferVar::Var(id))) => sigil(kind, '?', id),
            Some(Leaf::Infer(InferVar::Canonical(id))) => sigil(kind, '?', format!("c{id}")),
            Some(Leaf::Bound(BoundVar { depth: DebruijnIndex(depth), index })) => {
                let binder = self.binders.len().checked_sub(1 + depth as usize);
                let binder = binder.and_then(|at| self.binders.get(at));
                let outer = (depth as usize).saturating_sub(self.binders.len());
                let name = binder.and_then(|(names, _)| names.of(kind).get(index as usize)).cloned();
                name.unwrap_or_else(|| format!("{}.{index}", sigil(kind, '^', outer)))
            }
            Some(Leaf::Error(_)) => match kind {
                VarKind::Ty => "{error}",
                VarKind::Region => "'{error}",
                VarKind::Const => "{const error}",
            }
            .to_owned(),
        };
        self.push(&text);
    }

    fn print_const<F: TypeFamily<Name = Name>>(&mut self, constant: &Const<F>) {
        let expression = matches!(constant.data(), ConstData::Expr(..));
        if expression {
            self.push("{ ");
        }
        self.print_expr(constant, 0);
        if expression {
            self.push(" }");
        }
    }

    /// Prints a constant in a context of binding strength `outer`.
    fn print_expr<F: TypeFamily<Name = Name>>(&mut self, constant: &Const<F>, outer: u8) {
        if !self.part() {
            return;
        }
        match constant.data() {
            ConstData::Value(value) => self.push(&value.to_string()),
            ConstData::Alias(name, args) => {
                self.push("{const ");
                self.print_name(name);
                self.args(args);
                self.push("}");
            }
            leaf @ (ConstData::Placeholder(_)
            | ConstData::Infer(_)
            | ConstData::Bound(_)
            | ConstData::Error(_)) => self.print_leaf(VarKind::Const, leaf.leaf()),
            ConstData::Expr(op, args) => {
                let strength = op.strength();
                if strength < outer {
                    self.push("(");
                }
                match args {
                    [a, b] => {
                        self.print_operand(a, strength);
                        self.push(" ");
                        self.push(op.sign());
                        self.push(" ");
                        // Operators associate to the left.
                        self.print_operand(b, strength + 1);
                    }
                    _ => {
                        self.push(op.sign());
                        for arg in args {
                            self.print_operand(arg, strength);
                        }
                    }
                }
                if strength < outer {
                    self.push(")");
                }
            }
        }
    }

    fn print_operand<F: TypeFamily<Name = Name>>(&mut self, operand: &GenericArg<F>, outer: u8) {
        match operand {
            GenericArg::Const(constant) => self.print_expr(constant, outer),
            GenericArg::Ty(_) | GenericArg::Region(_) => self.print_arg(operand),
        }
    }
}

/// Formats a variable: `'?3` for a region, `?#3` for a constant, `?3` for a type.
fn sigil(kind: VarKind, sign: char, id: impl std::fmt::Display) -> String {
    match kind {
        VarKind::Ty => format!("{sign}{id}"),
        VarKind::Region => format!("'{sign}{id}"),
        VarKind::Const => format!("{sign}#{id}"),
    }
}
