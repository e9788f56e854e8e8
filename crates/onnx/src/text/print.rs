//! Printer of messages in the textual syntax, with spans.
//!
//! One submodule per layer, as in the parser: [`types`], [`tensors`], [`attributes`], [`nodes`], [`graphs`]
//! and [`models`]. This module contains the entry points and shared rules.
//!
//! **Invariant:** recursion is bounded by [`MAX_NESTING`], counted as in the parser, for any message.
//!
//! **Invariant:** the output depends on the message and the options only.

mod attributes;
mod graphs;
mod models;
mod nodes;
mod options;
mod tensors;
mod types;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;

use crate::messages::{
    FunctionProto, GraphProto, ModelProto, NodeProto, StringStringEntryProto, Text, TypeProto, UnknownFields,
};

pub use options::{Annotations, Focus, Labels, Loss, PrintLimits, PrintOptions, RawData, Subgraphs, Syntax};

use super::composite::CompositeText;
use super::escape::is_unsafe;
use super::lexer::is_identifier;
use super::names::is_plain;
use super::parse::MAX_NESTING;
use super::span::{FunctionSpans, GraphSpans, ModelSpans, NodeSpans, Span};

pub fn print_model(model: &ModelProto, options: &PrintOptions) -> Printed<ModelSpans> {
    print(options, |printer| printer.model(model))
}

pub fn print_graph(graph: &GraphProto, options: &PrintOptions) -> Printed<GraphSpans> {
    print(options, |printer| printer.graph(graph))
}

pub fn print_function(function: &FunctionProto, options: &PrintOptions) -> Printed<FunctionSpans> {
    print(options, |printer| printer.function(function))
}

/// Prints a node.
///
/// ```
/// use typeloom_onnx::text::{PrintOptions, parse_node, print_node};
///
/// let node = parse_node("[\"/attn/Add_3\"] scores = Add(x, mask)")?;
/// let printed = print_node(&node, &PrintOptions::display());
/// assert_eq!(printed.text, "scores = Add(x, mask)");
/// assert_eq!(printed.spans.input(1).map(|span| span.of(&printed.text)), Some("mask"));
/// # Ok::<(), typeloom_onnx::text::ParseError>(())
/// ```
pub fn print_node(node: &NodeProto, options: &PrintOptions) -> Printed<NodeSpans> {
    print(options, |printer| printer.node(node, &options.focus))
}

/// Prints a type for diagnostics: `float[batch, 3, 224, 224]`.
///
/// The result is one line: control characters in names are escaped. If there are none,
/// [`parse_type`](super::parse_type) can parse it.
pub fn print_type(ty: &TypeProto) -> String {
    print(&PrintOptions { syntax: Syntax::Readable, ..PrintOptions::round_trip() }, |printer| printer.ty(ty))
        .text
}

/// Prints the children of a composite type exactly.
pub(super) fn composite_text(composite: &CompositeText) -> String {
    print(&PrintOptions::round_trip(), |printer| printer.composite(composite)).text
}

fn print<S>(options: &PrintOptions, rule: impl FnOnce(&mut Printer<'_>) -> S) -> Printed<S> {
    let mut printer = Printer { text: String::new(), losses: BTreeSet::new(), options, depth: 0, indent: 0 };
    let spans = rule(&mut printer);
    Printed { text: printer.text, spans, losses: printer.losses }
}

/// A printed text with its spans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed<S> {
    pub text: String,
    /// The spans of the printed elements.
    pub spans: S,
    /// Parts of the message that are missing in the text.
    pub losses: BTreeSet<Loss>,
}

/// The state of the printer.
struct Printer<'o> {
    text: String,
    losses: BTreeSet<Loss>,
    options: &'o PrintOptions,
    depth: u32,
    indent: usize,
}

impl Printer<'_> {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn push_display(&mut self, value: impl std::fmt::Display) {
        write!(self.text, "{value}").expect("writing to a string does not fail");
    }

    fn lose(&mut self, loss: Loss) {
        self.losses.insert(loss);
    }

    fn check_unknown(&mut self, fields: &UnknownFields) {
        if !fields.is_empty() {
            self.lose(Loss::UnknownFields);
        }
    }

    /// Applies a rule and returns the span of its output with its result.
    fn spanned<T>(&mut self, rule: impl FnOnce(&mut Self) -> T) -> (Span, T) {
        let start = self.text.len();
        let result = rule(self);
        (Span { start, end: self.text.len() }, result)
    }

    fn span(&mut self, rule: impl FnOnce(&mut Self)) -> Span {
        self.spanned(rule).0
    }

    /// Whether the maximum depth is reached.
    fn at_deepest(&mut self) -> bool {
        let deepest = self.depth == MAX_NESTING;
        if deepest {
            self.lose(Loss::TooDeep);
        }
        deepest
    }

    /// Applies a rule one level deeper; the caller has checked the depth.
    fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> T) -> T {
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    /// Starts a line with the current indentation.
    fn line(&mut self) {
        self.text.push('\n');
        let columns = self.indent * 3;
        self.text.extend(std::iter::repeat_n(' ', columns));
    }

    /// Prints items separated by commas: the first ones and the last one within `limit`, and those in
    /// `focus`. Each run of hidden items becomes an ellipsis. Collects the results of `item`, and those of
    /// `hidden` for a run.
    fn items<T, H: IntoIterator<Item = T>>(
        &mut self,
        len: usize,
        limit: usize,
        focus: &[usize],
        mut item: impl FnMut(&mut Self, usize) -> T,
        hidden: impl Fn(Span, Range<usize>) -> H,
    ) -> Vec<T> {
        let head = if len <= limit { len } else { limit.saturating_sub(1) };
        let mut results = Vec::new();
        let mut index = 0;
        while index < len {
            if index > 0 {
                self.push(", ");
            }
            // The next visible item; the last item is always visible.
            let shown = if index < head {
                index
            } else {
                next_in(focus, index).map_or(len - 1, |next| next.min(len - 1))
            };
            if index < shown {
                self.lose(Loss::Elided);
                let span =
                    self.span(|printer| printer.push_display(format_args!("… {} more", shown - index)));
                results.extend(hidden(span, index..shown));
                self.push(", ");
            }
            results.push(item(self, shown));
            index = shown + 1;
        }
        results
    }

    /// Prints all items separated by commas, within `limit`.
    fn separated<I, T>(
        &mut self,
        items: &[I],
        limit: usize,
        mut print: impl FnMut(&mut Self, &I) -> T,
    ) -> Vec<T> {
        self.items(items.len(), limit, &[], |printer, index| print(printer, &items[index]), |_, _| None)
    }

    /// `[item, ...]`
    fn values<T>(&mut self, items: &[T], print: impl FnMut(&mut Self, &T)) {
        self.enclosed("[", "]", |printer| {
            printer.separated(items, printer.options.limits.list_elements, print);
        });
    }

    fn enclosed<T>(&mut self, open: &str, close: &str, rule: impl FnOnce(&mut Self) -> T) -> T {
        self.push(open);
        let result = rule(self);
        self.push(close);
        result
    }

    /// Indented lines between two marks.
    fn block<T>(&mut self, open: &str, close: &str, lines: impl FnOnce(&mut Self) -> T) -> T {
        self.push(open);
        self.indent += 1;
        let result = lines(self);
        self.indent -= 1;
        self.line();
        self.push(close);
        result
    }

    /// A name in a position that accepts any name.
    fn name(&mut self, name: &str) -> Span {
        self.span(|printer| match printer.options.syntax {
            Syntax::Exact => printer.bare_or_quoted(name, is_plain(name)),
            Syntax::Readable => {
                let plain = |c: char| !(c.is_whitespace() || is_unsafe(c) || "\"\\()[]{}<>,=".contains(c));
                printer.bare_or_quoted(name, !name.is_empty() && name.chars().all(plain));
            }
        })
    }

    /// A name with its middle elided if it is too long: the ends of a path are the most informative parts.
    fn clipped(&mut self, name: &str) {
        let limit = self.options.limits.name_chars;
        let Some(chars) = longer_than(name, limit) else { return self.push(name) };
        self.lose(Loss::Elided);
        let head = limit / 2;
        let tail = chars - (limit - head);
        self.text.extend(name.chars().take(head));
        self.text.push('…');
        self.text.extend(name.chars().skip(tail));
    }

    /// A dotted name, without quotes if all its parts are identifiers.
    fn qualified(&mut self, name: &str) {
        self.bare_or_quoted(name, name.split('.').all(is_identifier));
    }

    fn bare_or_quoted(&mut self, name: &str, bare: bool) {
        if bare {
            self.clipped(name);
        } else {
            self.quoted_clipped(name, self.options.limits.name_chars);
        }
    }

    /// A string literal.
    fn string(&mut self, value: &str) {
        self.quoted_clipped(value, self.options.limits.string_chars);
    }

    fn quoted_clipped(&mut self, value: &str, limit: usize) {
        self.text.push('"');
        let readable = self.options.syntax == Syntax::Readable;
        let clip = longer_than(value, limit).is_some();
        for c in value.chars().take(limit) {
            match c {
                '"' | '\\' => self.text.extend(['\\', c]),
                c if readable && is_unsafe(c) => {
                    self.lose(Loss::Elided);
                    self.text.extend(c.escape_default());
                }
                c => self.text.push(c),
            }
        }
        if clip {
            self.lose(Loss::Elided);
            self.text.push('…');
        }
        self.text.push('"');
    }

    /// Bytes: a string if they are UTF-8.
    fn byte_string(&mut self, value: &[u8]) {
        match std::str::from_utf8(value) {
            Ok(value) => self.string(value),
            Err(_) => self.hex(value, self.options.limits.string_chars / 2),
        }
    }

    /// `hex"..."` with at most `limit` bytes.
    fn hex(&mut self, bytes: &[u8], limit: usize) {
        self.push("hex\"");
        for byte in bytes.iter().take(limit) {
            self.push_display(format_args!("{byte:02x}"));
        }
        if bytes.len() > limit {
            self.lose(Loss::Elided);
            self.text.push('…');
        }
        self.text.push('"');
    }

    fn string_pairs(&mut self, pairs: &[StringStringEntryProto]) {
        self.values(pairs, |printer, pair| {
            let StringStringEntryProto { key, value, unknown_fields } = pair;
            printer.check_unknown(unknown_fields);
            printer.string(key);
            printer.push(": ");
            printer.string(value);
        });
    }

    /// ` @{doc_string: ..., metadata_props: ...}`, unless empty or disabled.
    fn annotation(&mut self, doc_string: &Text, metadata_props: &[StringStringEntryProto]) {
        self.annotation_with(doc_string, metadata_props, None::<fn(&mut Self)>);
    }

    fn annotation_with(
        &mut self,
        doc_string: &Text,
        metadata_props: &[StringStringEntryProto],
        more: Option<impl FnOnce(&mut Self)>,
    ) {
        let doc_string = doc_string.as_deref().filter(|doc| !doc.is_empty());
        if doc_string.is_none() && metadata_props.is_empty() && more.is_none() {
            return;
        }
        if self.options.annotations == Annotations::Hidden {
            return self.lose(Loss::Elided);
        }
        let mut separator = " @{";
        if let Some(doc_string) = doc_string {
            self.push(std::mem::replace(&mut separator, ", "));
            self.push("doc_string: ");
            self.string(doc_string);
        }
        if !metadata_props.is_empty() {
            self.push(std::mem::replace(&mut separator, ", "));
            self.push("metadata_props: ");
            self.string_pairs(metadata_props);
        }
        if let Some(more) = more {
            self.push(separator);
            more(self);
        }
        self.push("}");
    }
}

/// The smallest focused position that is at least `from`.
fn next_in(focus: &[usize], from: usize) -> Option<usize> {
    focus.iter().copied().filter(|&index| index >= from).min()
}

/// Number of characters if it exceeds the limit.
fn longer_than(text: &str, limit: usize) -> Option<usize> {
    if text.len() <= limit {
        return None;
    }
    let chars = text.chars().count();
    (chars > limit).then_some(chars)
}
