//! Rendering of types for people: as a signature on one line, and as a tree.
//!
//! Both are bounded, because a type of sixty nodes can unfold to more text than fits in memory: a signature
//! is truncated after a number of bytes, and a tree expands each type once and refers to it afterwards.
//!
//! Names of types are written unchanged. Bound variables have generated names, as in terms
//! ([`VariableNames`]); a variable whose binder is outside the rendered type is written as `^depth.index`. A
//! part of a compared type is rendered with the names of the whole type (`Scope`).

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use typeloom_term::VarKind;
use typeloom_term::print::{NameScope, VariableNames};

use crate::dim::int_of;
use crate::layout::{self, FieldLists, Role};
use crate::pool::{Idx, Pool};
use crate::tag::{Sort, Tag, TagClass};

/// Limits of a rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderLimits {
    /// Approximate number of bytes of a signature.
    pub bytes: usize,
    /// Number of lines of a tree.
    pub lines: usize,
    /// Number of nesting levels.
    pub depth: usize,
}

impl Default for RenderLimits {
    fn default() -> Self {
        RenderLimits { bytes: 4096, lines: 1000, depth: 64 }
    }
}

const ELLIPSIS: char = '…';

/// Remaining output, in reverse order.
enum Piece {
    Text(String),
    Static(&'static str),
    Type(u32, usize),
    /// End of a member of a group that is being unfolded.
    Leave,
    /// End of a binder's scope.
    Unbind,
}

/// Maximum number of types that are searched for names that generated names have to avoid.
const MAX_NAMED: usize = 1 << 12;

/// The names of the variables of the binders around a type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    binders: Vec<(Vec<String>, NameScope)>,
    names: VariableNames,
}

impl Scope {
    /// The scope outside of types.
    pub(crate) fn around(pool: &Pool, types: &[u32]) -> Self {
        let mut found = HashSet::new();
        let mut seen = HashSet::new();
        let mut stack = types.to_vec();
        while let Some(id) = stack.pop() {
            if seen.len() >= MAX_NAMED || !seen.insert(id) {
                continue;
            }
            let tag = pool.nodes[id as usize].tag;
            layout::for_each(tag, pool.words(id), |role, _, word| match role {
                Role::Name if tag == Tag::Lifetime => {
                    found.insert(format!("'{}", pool.names.get(word)));
                }
                Role::Name => {
                    found.insert(pool.names.get(word).to_owned());
                }
                Role::Child(_) => stack.push(word),
                Role::Num => {}
            });
        }
        Scope { binders: Vec::new(), names: VariableNames::avoiding(found) }
    }

    /// Enters a binder with variables of these sorts.
    pub(crate) fn enter(&mut self, sorts: &[u32]) -> &[String] {
        let scope = self.names.scope();
        let kind = |sort: u32| match Sort::from_number(sort) {
            Some(Sort::Region) => VarKind::Region,
            Some(Sort::Const) => VarKind::Const,
            Some(Sort::Type) | None => VarKind::Ty,
        };
        let names = sorts.iter().map(|&sort| self.names.generate(kind(sort))).collect();
        self.binders.push((names, scope));
        self.binders.last().map_or(&[], |(names, _)| names)
    }

    fn leave(&mut self) {
        if let Some((_, scope)) = self.binders.pop() {
            self.names.leave(scope);
        }
    }

    fn bound(&self, depth: u32, index: u32) -> String {
        let binder = self.binders.len().checked_sub(1 + depth as usize).and_then(|at| self.binders.get(at));
        let name = binder.and_then(|(names, _)| names.get(index as usize)).cloned();
        name.unwrap_or_else(|| {
            format!("^{}.{index}", depth as usize - self.binders.len().min(depth as usize))
        })
    }
}

struct Signature<'p> {
    pool: &'p Pool,
    root: u32,
    out: String,
    stack: Vec<Piece>,
    /// Recursive members being unfolded, with their start in the output and whether they were referred to.
    open: Vec<(u32, usize, bool)>,
    /// `None` before the first binder.
    scope: Option<Scope>,
}

impl Signature<'_> {
    fn push_pieces(&mut self, pieces: Vec<Piece>) {
        self.stack.extend(pieces.into_iter().rev());
    }

    fn push_list(&mut self, open: &'static str, children: &[u32], close: &'static str, depth: usize) {
        let mut pieces = vec![Piece::Static(open)];
        for (at, &child) in children.iter().enumerate() {
            if at > 0 {
                pieces.push(Piece::Static(", "));
            }
            pieces.push(Piece::Type(child, depth));
        }
        pieces.push(Piece::Static(close));
        self.push_pieces(pieces);
    }

    fn push_operators(&mut self, children: &[u32], operator: &'static str, depth: usize) {
        let mut pieces = Vec::new();
        for (at, &child) in children.iter().enumerate() {
            if at > 0 {
                pieces.push(Piece::Static(operator));
            }
            let nested = matches!(
                self.pool.nodes[child as usize].tag,
                Tag::DimSum | Tag::DimFloorDiv | Tag::DimMod | Tag::DimProduct
            );
            let operand = Piece::Type(child, depth);
            if nested {
                pieces.extend([Piece::Static("("), operand, Piece::Static(")")]);
            } else {
                pieces.push(operand);
            }
        }
        self.push_pieces(pieces);
    }

    /// Sorts operands in an order that does not depend on ids.
    fn by_text(&self, children: &[u32]) -> Vec<u32> {
        let limits = RenderLimits { bytes: 256, lines: 0, depth: 8 };
        let mut keyed: Vec<(String, u32)> = children
            .iter()
            .map(|&child| (self.pool.signature_in(child, &limits, self.scope.clone()), child))
            .collect();
        keyed.sort();
        keyed.into_iter().map(|(_, child)| child).collect()
    }

    fn binder(&mut self, sorts: &[u32]) -> String {
        let (pool, root) = (self.pool, self.root);
        self.scope.get_or_insert_with(|| Scope::around(pool, &[root])).enter(sorts).join(", ")
    }

    fn bound(&self, depth: u32, index: u32) -> String {
        self.scope.as_ref().unwrap_or(&Scope::default()).bound(depth, index)
    }

    fn write(&mut self, id: u32, depth: usize, limits: &RenderLimits) {
        if depth > limits.depth {
            self.out.push(ELLIPSIS);
            return;
        }
        let pool = self.pool;
        if pool.is_recursive(Idx::from_raw(id)) {
            if let Some(at) = self.open.iter().position(|&(open, _, _)| open == id) {
                self.open[at].2 = true;
                let _ = write!(self.out, "rec{at}");
                return;
            }
            self.open.push((id, self.out.len(), false));
            self.stack.push(Piece::Leave);
        }
        let (tag, words) = (pool.nodes[id as usize].tag, pool.words(id));
        match tag.class() {
            TagClass::Primitive => self.out.push_str(tag.name()),
            TagClass::Container | TagClass::TwoChild => {
                self.out.push_str(tag.name());
                self.push_list("<", words, ">", depth + 1);
            }
            TagClass::Const => self.write_const(tag, words, depth + 1),
            TagClass::Constructor | TagClass::Region => self.write_constructor(tag, words, depth),
        }
    }

    fn write_constructor(&mut self, tag: Tag, words: &[u32], depth: usize) {
        let pool = self.pool;
        let name = |word: u32| pool.names.get(word);
        let next = depth + 1;
        match tag {
            Tag::Borrowed => {
                self.out.push('&');
                self.stack.extend([
                    Piece::Type(words[0], next),
                    Piece::Static(" "),
                    Piece::Type(words[1], next),
                ]);
            }
            Tag::Lifetime => {
                let _ = write!(self.out, "'{}", name(words[0]));
            }
            Tag::Function => {
                self.stack.push(Piece::Type(words[0], next));
                self.push_list("(", &words[1..], ") -> ", next);
            }
            Tag::Tuple if words.len() == 1 => self.push_list("(", words, ",)", next),
            Tag::Tuple => self.push_list("(", words, ")", next),
            Tag::Opaque => self.out.push_str(name(words[0])),
            Tag::Struct | Tag::Enum => self.write_fields(tag, words, next),
            Tag::Applied => {
                self.out.push_str(name(words[0]));
                self.push_list("<", &words[1..], ">", next);
            }
            Tag::Named => {
                let _ = write!(self.out, "?{}", name(words[0]));
            }
            Tag::Rigid => {
                let _ = write!(self.out, "!{}", name(words[0]));
            }
            Tag::Declared => {
                let _ = write!(self.out, "type {}", name(words[0]));
                let letters = self.binder(&words[2..]);
                if !letters.is_empty() {
                    let _ = write!(self.out, "<{letters}>");
                }
                self.out.push_str(" = ");
                self.stack.extend([Piece::Unbind, Piece::Type(words[1], next)]);
            }
            Tag::Instance => {
                let declaration = pool.words(words[0]);
                self.out.push_str(name(declaration.first().copied().unwrap_or(0)));
                if words.len() > 1 {
                    self.push_list("<", &words[1..], ">", next);
                }
                if !self.open.iter().any(|&(open, _, _)| open == words[0]) && depth == 0 {
                    self.stack.insert(0, Piece::Type(words[0], next));
                    self.stack.insert(1, Piece::Static(" where "));
                }
            }
            Tag::Scheme => {
                let letters = self.binder(&words[1..]);
                let _ = write!(self.out, "forall {letters}. ");
                self.stack.extend([Piece::Unbind, Piece::Type(words[0], next)]);
            }
            Tag::Bound => self.out.push_str(&self.bound(words[0], words[1])),
            Tag::Infer => {
                let _ = write!(self.out, "?{}", words[0]);
            }
            Tag::Tensor | Tag::TensorUnranked => {
                self.out.push_str("Tensor<");
                self.stack.push(Piece::Static(">"));
                if tag == Tag::Tensor {
                    self.push_list(", [", &words[1..], "]", next);
                }
                self.stack.push(Piece::Type(words[0], next));
            }
            // Tags of the other classes.
            _ => {}
        }
    }

    /// Writes a struct or an enum.
    fn write_fields(&mut self, tag: Tag, words: &[u32], depth: usize) {
        let pool = self.pool;
        let name = |word: u32| pool.names.get(word);
        let _ = write!(self.out, "{} {}", tag.name(), name(words[0]));
        let mut pieces = vec![Piece::Static(" { ")];
        for (at, list) in FieldLists::of(tag, words).enumerate() {
            if at > 0 {
                pieces.push(Piece::Static(", "));
            }
            if tag == Tag::Enum {
                pieces.push(Piece::Text(name(list.name).to_owned()));
            }
            let brackets = tag == Tag::Enum && list.field_types().len() > 0;
            if brackets {
                pieces.push(Piece::Static("("));
            }
            let mut names = list.field_names();
            for (at, ty) in list.field_types().enumerate() {
                if at > 0 {
                    pieces.push(Piece::Static(", "));
                }
                if let Some(field) = names.next() {
                    pieces.push(Piece::Text(format!("{}: ", name(field))));
                }
                pieces.push(Piece::Type(ty, depth));
            }
            if brackets {
                pieces.push(Piece::Static(")"));
            }
        }
        pieces.push(Piece::Static(" }"));
        self.push_pieces(pieces);
    }

    /// Writes a constant.
    fn write_const(&mut self, tag: Tag, words: &[u32], depth: usize) {
        match tag {
            Tag::DimConst => {
                let _ = write!(self.out, "{}", int_of(words[0], words[1]));
            }
            Tag::DimSymbol => self.out.push_str(self.pool.names.get(words[0])),
            Tag::DimSum => self.write_sum(words, depth),
            Tag::DimProduct => self.push_operators(&self.by_text(words), "*", depth),
            Tag::DimFloorDiv => self.push_operators(words, "//", depth),
            Tag::DimMod => self.push_operators(words, "%", depth),
            Tag::DimMin | Tag::DimMax => {
                self.out.push_str(tag.name());
                self.push_list("(", &self.by_text(words), ")", depth);
            }
            // `DimUnknown`; the callers handle all other tags.
            _ => self.out.push('?'),
        }
    }

    fn write_sum(&mut self, words: &[u32], depth: usize) {
        let terms = words[2..].chunks_exact(3);
        let coefficients: HashMap<u32, i64> =
            terms.clone().map(|term| (term[2], int_of(term[0], term[1]))).collect();
        let monomials: Vec<u32> = terms.map(|term| term[2]).collect();
        let mut pieces = Vec::new();
        for (at, monomial) in self.by_text(&monomials).into_iter().enumerate() {
            let coefficient = coefficients[&monomial];
            pieces.push(Piece::Static(match (at, coefficient < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            }));
            if coefficient.unsigned_abs() != 1 {
                pieces.push(Piece::Text(format!("{}*", coefficient.unsigned_abs())));
            }
            pieces.push(Piece::Type(monomial, depth));
        }
        match int_of(words[0], words[1]) {
            0 => {}
            int if int < 0 => pieces.push(Piece::Text(format!(" - {}", int.unsigned_abs()))),
            int => pieces.push(Piece::Text(format!(" + {int}"))),
        }
        self.stack.extend(pieces.into_iter().rev());
    }

    fn run(mut self, limits: &RenderLimits) -> String {
        while let Some(piece) = self.stack.pop() {
            if self.out.len() > limits.bytes {
                self.out.push(ELLIPSIS);
                break;
            }
            match piece {
                Piece::Text(text) => self.out.push_str(&text),
                Piece::Static(text) => self.out.push_str(text),
                Piece::Type(id, depth) => self.write(id, depth, limits),
                Piece::Unbind => {
                    if let Some(scope) = &mut self.scope {
                        scope.leave();
                    }
                }
                Piece::Leave => {
                    if let Some((_, start, true)) = self.open.pop() {
                        let label = format!("rec{} = ", self.open.len());
                        self.out.insert_str(start, &label);
                    }
                }
            }
        }
        self.out
    }
}

/// Sorts of the variables of a binder; `None` for other types.
pub(crate) fn binder_sorts(tag: Tag, words: &[u32]) -> Option<&[u32]> {
    words.get(layout::binder_body(tag)? + 1..)
}

impl Pool {
    /// Renders the type on one line, within the default [`RenderLimits`].
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    pub fn signature(&self, ty: Idx) -> String {
        self.signature_within(ty, &RenderLimits::default())
    }

    /// Renders the type on one line; `…` marks omitted parts.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    pub fn signature_within(&self, ty: Idx, limits: &RenderLimits) -> String {
        self.signature_in(ty.number(), limits, None)
    }

    /// Renders a type inside of binders.
    pub(crate) fn signature_in(&self, root: u32, limits: &RenderLimits, scope: Option<Scope>) -> String {
        let stack = vec![Piece::Type(root, 0)];
        Signature { pool: self, root, out: String::new(), stack, open: Vec::new(), scope }.run(limits)
    }

    /// Renders the type as an indented tree, within the default [`RenderLimits`].
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    pub fn tree(&self, ty: Idx) -> String {
        self.tree_within(ty, &RenderLimits::default())
    }

    /// Renders the type as an indented tree. A repeated type with children refers to the line of its first
    /// occurrence; `…` marks omitted lines.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    pub fn tree_within(&self, ty: Idx, limits: &RenderLimits) -> String {
        let mut out = String::new();
        // A type with outer variables has one line for each scope.
        let mut lines: HashMap<(u32, usize), usize> = HashMap::new();
        let mut scopes = vec![Scope::around(self, &[ty.number()])];
        let mut stack = vec![(String::new(), ty.number(), 0usize, 0usize)];
        let mut line = 0;
        while let Some((label, id, depth, scope)) = stack.pop() {
            if line >= limits.lines || out.len() > limits.bytes.saturating_mul(16) {
                out.push(ELLIPSIS);
                out.push('\n');
                break;
            }
            line += 1;
            let mut inside = scope;
            if let Some(sorts) = binder_sorts(self.nodes[id as usize].tag, self.words(id)) {
                let mut inner = scopes[scope].clone();
                inner.enter(sorts);
                inside = scopes.len();
                scopes.push(inner);
            }
            let (head, children) = self.tree_node(id, limits, &scopes[inside]);
            let _ = write!(out, "{:indent$}{label}", "", indent = depth.min(limits.depth) * 2);
            let key = (id, if self.nodes[id as usize].free == 0 { 0 } else { scope });
            if !children.is_empty()
                && let Some(first) = lines.get(&key)
            {
                let _ = writeln!(out, "{head} (see line {first})");
                continue;
            }
            lines.insert(key, line);
            let _ = writeln!(out, "{head}");
            if depth >= limits.depth && !children.is_empty() {
                let _ = writeln!(out, "{:indent$}{ELLIPSIS}", "", indent = (depth + 1) * 2);
                line += 1;
                continue;
            }
            let below = children.into_iter().rev();
            stack.extend(below.map(|(label, child)| (label, child, depth + 1, inside)));
        }
        out
    }

    /// Returns the text of one node of a tree and its labelled children.
    fn tree_node(&self, id: u32, limits: &RenderLimits, scope: &Scope) -> (String, Vec<(String, u32)>) {
        let tag = self.nodes[id as usize].tag;
        let words = self.words(id);
        let mut head = tag.name().to_owned();
        let mut children: Vec<(String, u32)> = Vec::new();
        match tag {
            Tag::Struct | Tag::Enum => {
                let _ = write!(head, " {}", self.names.get(words[0]));
                for part in FieldLists::of(tag, words) {
                    let prefix =
                        if tag == Tag::Enum { self.names.get(part.name).to_owned() } else { String::new() };
                    let mut names = part.field_names();
                    if part.field_types().len() == 0 && tag == Tag::Enum {
                        let _ = write!(head, " | {prefix}");
                    }
                    for (at, ty) in part.field_types().enumerate() {
                        let field =
                            names.next().map_or_else(|| at.to_string(), |n| self.names.get(n).to_owned());
                        let dot = if prefix.is_empty() { "" } else { "." };
                        children.push((format!("{prefix}{dot}{field}: "), ty));
                    }
                }
            }
            Tag::Function => {
                for (at, &param) in words[1..].iter().enumerate() {
                    children.push((format!("{at}: "), param));
                }
                children.push(("returns: ".to_owned(), words[0]));
            }
            _ if tag.class() == TagClass::Const || tag == Tag::Bound || tag == Tag::Infer => {
                let limits = RenderLimits { bytes: 256, ..*limits };
                head = self.signature_in(id, &limits, Some(scope.clone()));
            }
            _ => {
                let own = binder_sorts(tag, words).and(scope.binders.last());
                let mut own = own.into_iter().flat_map(|(names, _)| names);
                layout::for_each(tag, words, |role, _, word| match role {
                    Role::Name => {
                        let _ = write!(head, " {}", self.names.get(word));
                    }
                    Role::Child(_) => children.push((String::new(), word)),
                    Role::Num => {
                        let sort = Sort::from_number(word).map_or("", Sort::name);
                        let _ = write!(head, " {sort} {}", own.next().map_or("", String::as_str));
                    }
                });
            }
        }
        (head, children)
    }
}
