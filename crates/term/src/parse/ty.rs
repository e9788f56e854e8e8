//! Parsing of types, regions, arguments and bounds.
//!
//! Each method parses one form of the grammar, and [`Parser::any_ty`] selects it by the first token:
//!
//! ```text
//! (A, B)   [T; 3]   &'a mut T   *const T   !    as in Rust; `(A)` is `A`
//! for<'a> fn(&'a A) -> B                        a function under a binder
//! dyn Tr<A, Item = B> + 'a                      two bounds, a trait and a projection, and a lifetime
//! <T as Tr>::Item                               an alias
//! Tensor<f32, [N, 3]>   Tensor<f32>             a tensor, and one of unknown rank
//! {opaque path<A>}   {forall for<'a> fn(P)}     terms that Rust has no syntax for
//! ```
//!
//! A name is resolved in this order: a variable of a binder, innermost first; a primitive type; a parameter
//! of the [`Scope`](super::Scope); otherwise it is a nominal type. So each text has one meaning in a scope,
//! and a name that is not known is never an error. Parts that Rust infers are explicit in a term: `&T` has an
//! erased lifetime, `dyn Tr` the lifetime `'static`, a function without a result the unit type, and `extern
//! fn` the convention `C`.
//!
//! **Invariant:** the parser accepts the output of [`crate::print`], unless the printer shortened it. A block
//! `{ name }` is a constant, so a kind in braces is recognized only if a path follows it.
//!
//! **Invariant:** a method that enters a binder leaves it, unless it returns an error, which ends the parse.
//!
//! **Limits:** types nest by at most [`MAX_DEPTH`](crate::meta::MAX_DEPTH) levels. Whether a path exists, and
//! how many arguments it takes, is not checked.

use super::lexer::Token;
use super::{Names, ParseError, ParseErrorKind, Parser, term_error};
use crate::arg::GenericArg;
use crate::binder::{Arity, VarKind};
use crate::family::TypeFamily;
use crate::name::{Abi, Mutability, Name, PathName, Safety, Variadic};
use crate::region::Region;
use crate::ty::{DynBound, DynBoundKind, DynTy, FnTy, Ty, TyData, WitnessTy};

impl<'t, F: TypeFamily<Name = Name>> Parser<'_, 't, F> {
    pub(super) fn ty(&mut self) -> Result<Ty<F>, ParseError> {
        self.nested(Self::any_ty)
    }

    fn build(&self, at: usize, data: TyData<'_, F>) -> Result<Ty<F>, ParseError> {
        Ty::new(self.cx, data).map_err(term_error(at))
    }

    fn apply(&self, at: usize, name: Name, args: &[GenericArg<F>]) -> Result<Ty<F>, ParseError> {
        Ty::apply(self.cx, name, args).map_err(term_error(at))
    }

    fn any_ty(&mut self) -> Result<Ty<F>, ParseError> {
        let at = self.offset();
        match self.token() {
            Token::Punct("(") => self.tuple(at),
            Token::Punct("[") => self.array(at),
            Token::Punct("&") => {
                self.advance();
                let region = if self.at_region() { self.region()? } else { Region::Erased };
                let mutability = self.mutability();
                let inner = self.ty()?;
                self.apply(at, Name::Ref(mutability), &[region.into(), inner.into()])
            }
            Token::Punct("*") => {
                self.advance();
                let mutability = self.mutability();
                if mutability == Mutability::Shared && !self.eat_word("const") {
                    return Err(self.error(ParseErrorKind::Expected("`const` or `mut`")));
                }
                let inner = self.ty()?;
                self.apply(at, Name::RawPtr(mutability), &[inner.into()])
            }
            Token::Punct("!") => {
                self.advance();
                self.apply(at, Name::Never, &[])
            }
            Token::Punct("<") => self.projection(at),
            Token::Punct("{") => self.braced(at),
            Token::Sigil(sigil) if sigil.sort == VarKind::Ty => {
                self.advance();
                self.build(at, self.leaf(sigil).ty_data())
            }
            Token::Ident("for" | "fn" | "extern") => self.function(at),
            Token::Ident("unsafe") if matches!(self.token_at(1), Token::Punct("<")) => self.unsafe_binder(at),
            Token::Ident("unsafe") => self.function(at),
            Token::Ident("dyn") => self.dynamic(at),
            Token::Ident("Tensor") if matches!(self.token_at(1), Token::Punct("<")) => self.tensor(at),
            Token::Ident(_) => self.named(at),
            _ => Err(self.error(ParseErrorKind::Expected("a type"))),
        }
    }

    fn mutability(&mut self) -> Mutability {
        if self.eat_word("mut") { Mutability::Mutable } else { Mutability::Shared }
    }

    fn tuple(&mut self, at: usize) -> Result<Ty<F>, ParseError> {
        self.advance();
        let mut items: Vec<GenericArg<F>> = Vec::new();
        loop {
            if self.eat(")") {
                return self.apply(at, Name::Tuple, &items);
            }
            items.push(self.ty()?.into());
            if self.eat(",") {
                continue;
            }
            self.expect(")")?;
            // Parentheses around a single type only group.
            return match items.as_slice() {
                [GenericArg::Ty(single)] => Ok(single.clone()),
                items => self.apply(at, Name::Tuple, items),
            };
        }
    }

    fn array(&mut self, at: usize) -> Result<Ty<F>, ParseError> {
        self.advance();
        let element = self.ty()?;
        if self.eat("]") {
            return self.apply(at, Name::Slice, &[element.into()]);
        }
        self.expect(";")?;
        let len = self.expr(0)?;
        self.expect("]")?;
        self.apply(at, Name::Array, &[element.into(), len.into()])
    }

    fn named(&mut self, at: usize) -> Result<Ty<F>, ParseError> {
        let path = self.path()?;
        if let Some(var) = self.bound(&path, VarKind::Ty) {
            return self.build(at, TyData::BoundVariable(var));
        }
        if let Some(name) = Name::primitive(&path) {
            return self.apply(at, name, &[]);
        }
        if self.scope.types.contains(&path) {
            let name = Name::Param(self.symbols.intern(&path));
            return Ty::param(self.cx, name).map_err(term_error(at));
        }
        let args = self.optional_args()?;
        let name = Name::Adt(self.symbols.intern(&path));
        self.apply(at, name, &args)
    }

    fn tensor(&mut self, at: usize) -> Result<Ty<F>, ParseError> {
        self.advance();
        self.expect("<")?;
        let element = self.path()?;
        let element = self.symbols.intern(&element);
        if self.eat(">") {
            return self.apply(at, Name::TensorAnyRank(element), &[]);
        }
        self.expect(",")?;
        self.expect("[")?;
        let dims = self.list("]", |this| this.expr(0).map(GenericArg::Const))?;
        self.expect(">")?;
        self.apply(at, Name::Tensor(element), &dims)
    }

    /// Parses `<T as Trait<A>>::Item`.
    fn projection(&mut self, at: usize) -> Result<Ty<F>, ParseError> {
        self.advance();
        let mut args = vec![GenericArg::Ty(self.ty()?)];
        if !self.eat_word("as") {
            return Err(self.error(ParseErrorKind::Expected("`as`")));
        }
        let of = self.path()?;
        args.extend(self.optional_args()?);
        self.expect(">")?;
        self.expect("::")?;
        let item = self.path()?;
        let name = Name::Projection(self.symbols.intern(&format!("{of}::{item}")));
        Ty::alias(self.cx, name, &args).map_err(term_error(at))
    }

    /// Kinds of types without Rust syntax.
    fn braced_kind(word: &str) -> Option<Braced> {
        Some(match word {
            "inherent" | "opaque" | "type" | "projection" => Braced::Alias(Name::in_braces(word)?),
            "witness" => Braced::Witness,
            "forall" => Braced::Forall,
            _ => Braced::Apply(Name::in_braces(word)?),
        })
    }

    /// Returns the hyphenated keyword after `{` and its number of tokens.
    fn braced_word(&self) -> Option<(String, usize)> {
        let Token::Ident(first) = self.token_at(1) else { return None };
        let mut word = first.to_owned();
        let mut taken = 1;
        while let (Token::Punct("-"), Token::Ident(next)) =
            (self.token_at(taken + 1), self.token_at(taken + 2))
        {
            word.push('-');
            word.push_str(next);
            taken += 2;
        }
        Some((word, taken))
    }

    pub(super) fn at_braced_type(&self) -> bool {
        let Some((word, taken)) = self.braced_word() else { return false };
        // A block that contains only a name is a constant: `{ closure }`.
        let followed = matches!(self.token_at(taken + 1), Token::Ident(_));
        self.peek("{") && followed && Self::braced_kind(&word).is_some()
    }

    fn braced(&mut self, at: usize) -> Result<Ty<F>, ParseError> {
        let unknown = self.error(ParseErrorKind::Expected("a kind of type"));
        let (word, taken) = self.braced_word().ok_or(unknown.clone())?;
        let kind = Self::braced_kind(&word).ok_or(unknown)?;
        for _ in 0..=taken {
            self.advance();
        }
        if matches!(kind, Braced::Forall) {
            let function = self.function(at)?;
            let TyData::Fn(FnTy { name: _, arity, signature }) = function.data() else {
                return Err(self.error(ParseErrorKind::Expected("conditions, as a function")));
            };
            self.expect("}")?;
            return Ty::function(self.cx, Name::Forall, arity, signature).map_err(term_error(at));
        }
        let path = self.path()?;
        let symbol = self.symbols.intern(&path);
        let ty = match kind {
            Braced::Forall => return Err(self.error(ParseErrorKind::Expected("conditions, as a function"))),
            Braced::Apply(name) => {
                let args = self.optional_args()?;
                self.apply(at, name(symbol), &args)
            }
            Braced::Alias(name) => {
                let args = self.optional_args()?;
                Ty::alias(self.cx, name(symbol), &args).map_err(term_error(at))
            }
            Braced::Witness => {
                let arity = self.binder()?;
                self.expect("(")?;
                let types = self.list(")", Self::arg)?;
                self.binders.pop();
                let name = Name::Coroutine(symbol);
                self.build(at, TyData::GeneratorWitness(WitnessTy { name, arity, types: &types }))
            }
        }?;
        self.expect("}")?;
        Ok(ty)
    }

    /// Parses `for<'a, T, const N>` or nothing, and enters the binder; the caller leaves it.
    fn binder(&mut self) -> Result<Arity, ParseError> {
        if self.eat_word("for") {
            self.expect("<")?;
            return self.binder_list();
        }
        self.binders.push(Names::default());
        Ok(Arity::NONE)
    }

    fn binder_list(&mut self) -> Result<Arity, ParseError> {
        let mut names: Names<'t> = Names::default();
        self.list(">", |this| {
            match this.token() {
                Token::Lifetime(name) => names.regions.push(name),
                Token::Ident("const") => {
                    this.advance();
                    let Token::Ident(name) = this.token() else {
                        return Err(this.error(ParseErrorKind::Expected("a name")));
                    };
                    names.consts.push(name);
                }
                Token::Ident(name) => names.types.push(name),
                _ => return Err(this.error(ParseErrorKind::Expected("a variable"))),
            }
            this.advance();
            Ok(())
        })?;
        let arity = names.arity(Vec::len).ok_or_else(|| self.error(ParseErrorKind::TooManyBound))?;
        self.binders.push(names);
        Ok(arity)
    }

    fn unsafe_binder(&mut self, at: usize) -> Result<Ty<F>, ParseError> {
        self.advance();
        self.expect("<")?;
        let arity = self.binder_list()?;
        let inner = self.ty()?;
        self.binders.pop();
        Ty::function(self.cx, Name::UnsafeBinder, arity, &[inner.into()]).map_err(term_error(at))
    }

    fn function(&mut self, at: usize) -> Result<Ty<F>, ParseError> {
        let arity = self.binder()?;
        let safety = if self.eat_word("unsafe") { Safety::Unsafe } else { Safety::Safe };
        let mut abi = Abi::Rust;
        if self.eat_word("extern") {
            let named = match self.token() {
                Token::Str(text) => {
                    self.advance();
                    text
                }
                _ => "C",
            };
            abi = Abi::Named(self.symbols.intern(named));
        }
        if !self.eat_word("fn") {
            return Err(self.error(ParseErrorKind::Expected("`fn`")));
        }
        self.expect("(")?;
        let mut variadic = Variadic::Fixed;
        let mut signature: Vec<GenericArg<F>> = Vec::new();
        loop {
            if self.eat(")") {
                break;
            }
            if self.eat("...") {
                variadic = Variadic::CVariadic;
                self.expect(")")?;
                break;
            }
            self.skip_parameter_name();
            signature.push(self.ty()?.into());
            if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        let output = self.output(at)?;
        signature.push(output.into());
        self.binders.pop();
        let name = Name::FnPtr(safety, variadic, abi);
        Ty::function(self.cx, name, arity, &signature).map_err(term_error(at))
    }

    fn output(&mut self, at: usize) -> Result<Ty<F>, ParseError> {
        if self.eat("->") { self.ty() } else { self.apply(at, Name::Tuple, &[]) }
    }

    /// Skips `name:` before a parameter's type.
    fn skip_parameter_name(&mut self) {
        if matches!((self.token(), self.token_at(1)), (Token::Ident(_), Token::Punct(":"))) {
            self.advance();
            self.advance();
        }
    }

    fn dynamic(&mut self, at: usize) -> Result<Ty<F>, ParseError> {
        self.advance();
        let mut bounds = Vec::new();
        let mut region = Region::Static;
        loop {
            if self.at_region() {
                region = self.region()?;
            } else {
                self.bound_into(&mut bounds)?;
            }
            if !self.eat("+") {
                break;
            }
        }
        self.build(at, TyData::Dyn(DynTy { bounds: &bounds, region }))
    }

    /// Parses one bound; its associated types become separate bounds. `~` omits the bound itself.
    fn bound_into(&mut self, bounds: &mut Vec<DynBound<F>>) -> Result<(), ParseError> {
        let at = self.offset();
        let only_items = self.eat("~");
        let parenthesized = self.eat("(");
        let arity = self.binder()?;
        let path = self.path()?;
        let mut items: Vec<(&str, GenericArg<F>)> = Vec::new();
        let mut args: Vec<GenericArg<F>> = Vec::new();
        if self.eat("<") {
            self.list(">", |this| {
                if let (Token::Ident(item), Token::Punct("=")) = (this.token(), this.token_at(1)) {
                    this.advance();
                    this.advance();
                    items.push((item, this.arg()?));
                } else {
                    args.push(this.arg()?);
                }
                Ok(())
            })?;
        }
        let declaring_trait = if self.eat("(") {
            // `Fn(A) -> B` is `Fn<(A,)>` with an associated type of its supertrait `FnOnce`.
            let inputs = self.list(")", |this| Ok(this.ty()?.into()))?;
            args.push(self.apply(at, Name::Tuple, &inputs)?.into());
            let output = self.output(at)?;
            items.push(("Output", output.into()));
            path.rsplit_once("::").map_or("FnOnce".to_owned(), |(module, _)| format!("{module}::FnOnce"))
        } else {
            path.clone()
        };
        self.binders.pop();
        if parenthesized {
            self.expect(")")?;
        }
        if !only_items {
            let auto = args.is_empty() && items.is_empty() && self.scope.auto_traits.contains(&path);
            let kind = if auto { DynBoundKind::AutoTrait } else { DynBoundKind::Trait };
            let name = Name::Trait(self.symbols.intern(&path));
            bounds.push(DynBound { arity, kind, name, args: self.cx.intern_args(&args) });
        }
        for (item, value) in items {
            let mut args = args.clone();
            args.push(value);
            let name = Name::Projection(self.symbols.intern(&format!("{declaring_trait}::{item}")));
            let args = self.cx.intern_args(&args);
            bounds.push(DynBound { arity, kind: DynBoundKind::Projection, name, args });
        }
        Ok(())
    }

    fn at_region(&self) -> bool {
        match self.token() {
            Token::Lifetime(_) => true,
            Token::Sigil(sigil) => sigil.sort == VarKind::Region,
            _ => false,
        }
    }

    fn region(&mut self) -> Result<Region<F>, ParseError> {
        let region = match self.token() {
            Token::Lifetime("'static") => Region::Static,
            Token::Lifetime("'_") => Region::Erased,
            Token::Lifetime(name) => match self.bound(name, VarKind::Region) {
                Some(var) => Region::Bound(var),
                None => Region::param(Name::Param(self.symbols.intern(name))),
            },
            Token::Sigil(sigil) if sigil.sort == VarKind::Region => self.leaf(sigil).region(),
            _ => return Err(self.error(ParseErrorKind::Expected("a lifetime"))),
        };
        self.advance();
        Ok(region)
    }

    pub(super) fn arg(&mut self) -> Result<GenericArg<F>, ParseError> {
        if self.at_region() {
            return Ok(self.region()?.into());
        }
        if self.at_const() {
            return Ok(self.const_arg()?.into());
        }
        Ok(self.ty()?.into())
    }
}

/// Kind of term in braces.
enum Braced {
    Apply(PathName),
    Alias(PathName),
    Witness,
    Forall,
}
