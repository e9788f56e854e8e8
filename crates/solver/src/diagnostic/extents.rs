//! Dims, ranks and shapes that do not fit.

use super::cause::Doubt;
use super::node::{Mark, declaration};
use super::scope::Scope;
use super::words::{list, tick};
use super::{Code, Diagnostic, Fix};
use crate::dim::{Decision, DimId};
use crate::elem::Elem;
use crate::program::{DeclarationKind, Initializer, Origin, StepId, ValueId};
use crate::rule::{Extent, Port};
use crate::solution::Type;
use crate::solve_error::{Axes, ErrorSite};

/// The most axes of a shape that is shown in a note.
const MAX_AXES: usize = 16;

/// One shape of several that are shown above each other.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) dims: Box<[DimId]>,
    /// The axes to point at.
    pub(super) marked: Vec<usize>,
}

/// How shapes are put above each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    /// Last axis above last axis, as in broadcasting.
    Last,
    /// First axis above first axis.
    First,
    /// Each on its own.
    None,
}

impl<'a> Scope<'_, 'a> {
    /// A port has the wrong number of axes.
    pub(super) fn wrong_rank(
        &mut self,
        step: StepId,
        port: Port,
        (found, least, most): (usize, usize, Option<usize>),
        notes: Vec<String>,
    ) -> Diagnostic {
        let axes = |count: usize| if count == 1 { "1 axis".to_owned() } else { format!("{count} axes") };
        let expected = match (least, most) {
            (least, Some(most)) if least == most => axes(least),
            (0, Some(most)) => format!("at most {}", axes(most)),
            (least, Some(most)) => format!("{least} to {}", axes(most)),
            (least, None) => format!("at least {}", axes(least)),
        };
        let ty = self.port_type(step, port);
        let shown = self.show(&ty);
        let (op, name) = (self.op_word(step), self.port_word(step, port));
        let message = format!("{op} needs {expected}, but {name} has {found}: {shown}");
        let mark = self.mark(step, port, &shown, true);
        Diagnostic::new(Code::WrongRank, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]))
            .with_notes(notes)
    }

    /// Two dims must be equal, and are not.
    pub(super) fn dims_differ(
        &mut self,
        step: StepId,
        left: &Extent,
        right: &Extent,
        relation: &str,
        notes: Vec<String>,
    ) -> Diagnostic {
        let op = self.op_word(step);
        let (a, b) = (self.dim(left.dim), self.dim(right.dim));
        let same_place = left.port == right.port && (left.axis.is_none() || right.axis.is_none());
        let message = if same_place {
            let (site, other) = if left.axis.is_some() { (left, &b) } else { (right, &a) };
            let found = if left.axis.is_some() { &a } else { &b };
            format!("{op} needs {} to be {other}, but it is {found}", self.extent_word(step, site))
        } else {
            format!(
                "{op} needs equal dims, but {} is {a} and {} is {b}",
                self.extent_word(step, left),
                self.extent_word(step, right)
            )
        };
        let ports = if left.port == right.port { vec![right.port] } else { vec![left.port, right.port] };
        let mut marks: Vec<Mark<'_>> = self.shape_marks(step, &ports);
        for extent in [left, right] {
            if extent.axis.is_some() {
                self.mark_lineage(step, extent.port, extent.dim, &mut marks);
            }
        }
        let snippet = self.snippet(step, &marks);
        let subject = if same_place { "this dim" } else { "these dims" };
        let align = if relation.contains("broadcast") { Align::Last } else { Align::None };
        let reason = match self.shapes_note(step, &[left, right], align) {
            Some(shapes) => format!("{subject} {relation}:\n{shapes}"),
            None => format!("{subject} {relation}"),
        };
        Diagnostic::new(Code::DimMismatch, message, self.location_of_step(step))
            .with_snippets(snippet)
            .with_notes([reason])
            .with_notes(notes)
    }

    /// Shapes do not fit in another way.
    pub(super) fn shapes_differ(
        &mut self,
        step: StepId,
        ports: &[Port],
        message: &str,
        notes: Vec<String>,
    ) -> Diagnostic {
        let names: Vec<String> = ports.iter().map(|port| self.port_word(step, *port)).collect();
        let subject = if ports.len() == 1 { "the shape" } else { "the shapes" };
        let verb = if ports.len() == 1 { "does" } else { "do" };
        let message =
            format!("{subject} of {} {verb} not fit {}: {message}", list(&names, "and"), self.op_word(step));
        let marks = self.shape_marks(step, ports);
        let snippet = self.snippet(step, &marks);
        let mut rows = Vec::new();
        for port in ports {
            let Type::Tensor(tensor) = self.port_type(step, *port) else { continue };
            let Some(dims) = tensor.shape else { continue };
            rows.push(Row { name: self.port_word(step, *port), dims, marked: Vec::new() });
        }
        if let [first, second] = &mut rows[..] {
            self.mark_differences(first, second);
        }
        let shapes = if rows.len() > 1 { self.rows(&rows, Align::First) } else { None };
        Diagnostic::new(Code::ShapeMismatch, message, self.location_of_step(step))
            .with_snippets(snippet)
            .with_notes(shapes)
            .with_notes(notes)
    }

    /// The shape at a port is known to be another than the rule computes.
    pub(super) fn shape_contradicts(
        &mut self,
        step: StepId,
        port: Port,
        (known, computed): (&[DimId], &[DimId]),
        message: &str,
        notes: Vec<String>,
    ) -> Diagnostic {
        let (name, op) = (self.port_word(step, port), self.op_word(step));
        let message = format!("the shape of {name} does not fit {op}: {message}");
        let marks = self.shape_marks(step, &[port]);
        let snippet = self.snippet(step, &marks);
        let row =
            |name: &str, dims: &[DimId]| Row { name: name.to_owned(), dims: dims.into(), marked: Vec::new() };
        let mut rows = [row("known", known), row("needed", computed)];
        let [first, second] = &mut rows;
        self.mark_differences(first, second);
        let shapes = self.rows(&rows, Align::First);
        Diagnostic::new(Code::ShapeMismatch, message, self.location_of_step(step))
            .with_snippets(snippet)
            .with_notes(shapes)
            .with_notes(notes)
    }

    /// A declared extent is negative.
    pub(super) fn negative_dim(
        &mut self,
        site: ErrorSite,
        value: Option<ValueId>,
        declared_in: Option<DeclarationKind>,
        axis: usize,
        extent: i64,
    ) -> Diagnostic {
        let at = self.location(site);
        let name = value.map_or_else(|| "a value".to_owned(), |value| self.value_word(value));
        let message = format!("axis {axis} of {name} has the negative extent {extent}");
        let snippet = value.and_then(|value| {
            let ty = self.declared_text(value)?;
            let label = format!("axis {axis} is {extent}");
            Some(declaration(&ty, self.body().value_name(value), label, true))
        });
        let diagnostic = Diagnostic::new(Code::NegativeDim, message, at).with_snippets(snippet);
        if declared_in.is_none() {
            return diagnostic;
        }
        diagnostic
            .with_help("leave the extent unknown, as `typeloom fix` does, or write a symbol such as `batch`")
            .with_fix(Fix::DropDims)
    }

    /// A value with axes is declared as a scalar.
    pub(super) fn empty_shape(
        &mut self,
        site: ErrorSite,
        value: ValueId,
        declared_in: DeclarationKind,
        shown: &Axes,
    ) -> Diagnostic {
        let list = self.list_word(declared_in, self.body().value(value).graph);
        let found = match shown {
            Axes::Inferred(inferred) => format!("it is {}", self.show(inferred)),
            Axes::Needed(step) => format!("{} needs axes", self.node_word(*step)),
        };
        let message = format!("{} is declared without axes (`shape {{}}`), but {found}", self.name(value));
        let text = self.declared_text(value).unwrap_or_default();
        let snippet =
            declaration(&text, self.body().value_name(value), format!("declared {list}: a scalar"), true);
        Diagnostic::new(Code::EmptyShape, message, self.location(site))
            .with_snippets([snippet])
            .with_help("drop the declared shape, as `typeloom fix` does; ONNX writes an unknown shape by no shape at all")
            .with_fix(Fix::DropShapes)
    }

    /// Dims are named by a mark for an unknown extent.
    pub(super) fn placeholder_dim(
        &mut self,
        site: ErrorSite,
        value: ValueId,
        axis: usize,
        mark: &str,
        others: usize,
    ) -> Diagnostic {
        let mark = tick(mark);
        let mut message =
            format!("axis {axis} of {} is named {mark}, which is no name", self.value_word(value));
        if others > 0 {
            let noun = if others == 1 { "axis" } else { "axes" };
            message.push_str(&format!(" (and {others} more {noun})"));
        }
        let text = self.declared_text(value).unwrap_or_default();
        let label = format!("axis {axis} is treated as unknown");
        let snippet = declaration(&text, self.body().value_name(value), label, true);
        Diagnostic::new(Code::PlaceholderDim, message, self.location(site))
            .with_snippets([snippet])
            .with_help("give each axis a name such as `batch`; `typeloom fix` names each input axis apart")
            .with_fix(Fix::RenameDims)
    }

    /// A tensor has more elements than 64 bits can count.
    pub(super) fn extent_overflow(&mut self, site: ErrorSite, value: ValueId) -> Diagnostic {
        let word = self.value_word(value);
        let ty = self.type_of(value);
        let ty = self.show(&ty);
        let message = format!("{word} is {ty}, which is more elements than 64 bits can count");
        Diagnostic::new(Code::ExtentOverflow, message, self.location(site))
    }

    /// The declared type of a value or the type of its initializer, as it is written in the file.
    pub(super) fn declared_text(&self, value: ValueId) -> Option<String> {
        let body = self.body();
        if let Some(declaration) = body.declarations(value).last() {
            return super::node::type_text(declaration.ty);
        }
        self.initializer_text(value)
    }

    /// The type of the initializer of a value, as it is written in the file.
    pub(super) fn initializer_text(&self, value: ValueId) -> Option<String> {
        let body = self.body();
        let initializer = match body.value(value).origin {
            Origin::Initializer(at) | Origin::InputWithDefault(at) => body.initializers[at.index()],
            Origin::Input | Origin::Step(_) | Origin::Undefined => return None,
        };
        let (number, dims): (i32, Vec<i64>) = match initializer {
            Initializer::Dense(tensor) => {
                let header = tensor.header().ok()?;
                (header.data_type, header.dims.iter().copied().collect())
            }
            Initializer::Sparse(sparse) => {
                let sparse = sparse.parse().ok()?;
                let header = sparse.values.and_then(|values| values.header().ok());
                (header.map_or(0, |header| header.data_type), sparse.dims.iter().copied().collect())
            }
        };
        let elem = Elem::from_onnx(number).and_then(Elem::onnx_name).unwrap_or("undefined");
        let dims: Vec<String> = dims.iter().take(MAX_AXES).map(i64::to_string).collect();
        Some(if dims.is_empty() { elem.to_owned() } else { format!("{elem}[{}]", dims.join(", ")) })
    }

    /// A dim as a word.
    pub(super) fn dim(&self, dim: DimId) -> String {
        let shown = self.core.dims.display(dim).to_string();
        if self.core.dims.as_constant(dim).is_some() { shown } else { tick(&shown) }
    }

    fn extent_word(&self, step: StepId, extent: &Extent) -> String {
        let port = self.port_word(step, extent.port);
        match extent.axis {
            Some(axis) => format!("axis {axis} of {port}"),
            None => format!("what {port} asks for"),
        }
    }

    /// Marks on ports with their types in full, and where their values come from.
    pub(super) fn shape_marks(&mut self, step: StepId, ports: &[Port]) -> Vec<Mark<'a>> {
        let mut marks = Vec::with_capacity(ports.len());
        for (at, port) in ports.iter().enumerate() {
            let ty = self.port_type(step, *port);
            let shown = self.show(&ty);
            let made_here = matches!(port, Port::Out(_) | Port::BodyIn(..));
            let text = match self.value(step, *port).filter(|_| !made_here) {
                Some(value) => format!("{shown}, {}", self.origin_words(value)),
                None => shown,
            };
            marks.push(Mark { part: self.part(*port), text, primary: at + 1 == ports.len() });
        }
        marks
    }

    /// Says in the mark on a port where one of its extents comes from.
    fn mark_lineage(&mut self, step: StepId, port: Port, dim: DimId, marks: &mut [Mark<'a>]) {
        let made_here = matches!(port, Port::Out(_) | Port::BodyIn(..));
        let Some(value) = self.value(step, port).filter(|_| !made_here) else { return };
        let (part, ty) = (self.part(port), self.port_type(step, port));
        let words = self.lineage_words(value, dim);
        let shown = self.show(&ty);
        for mark in marks.iter_mut().filter(|mark| mark.part == part) {
            mark.text = format!("{shown}, {words}");
        }
    }

    pub(super) fn shapes_note(&mut self, step: StepId, extents: &[&Extent], align: Align) -> Option<String> {
        let mut rows = Vec::new();
        for extent in extents {
            let (Some(axis), Type::Tensor(tensor)) = (extent.axis, self.port_type(step, extent.port)) else {
                continue;
            };
            let Some(dims) = tensor.shape else { continue };
            rows.push(Row { name: self.port_word(step, extent.port), dims, marked: vec![axis] });
        }
        if rows.len() > 1 { self.rows(&rows, align) } else { None }
    }

    /// Marks the axes on which two shapes of one rank certainly differ.
    pub(super) fn mark_differences(&mut self, first: &mut Row, second: &mut Row) {
        if first.dims.len() != second.dims.len() {
            return;
        }
        for axis in 0..first.dims.len() {
            if self.core.dims.compare(first.dims[axis], second.dims[axis]) == Decision::Different {
                first.marked.push(axis);
                second.marked.push(axis);
            }
        }
    }

    /// Shapes above each other, one a line, with marks below the axes.
    pub(super) fn rows(&self, rows: &[Row], align: Align) -> Option<String> {
        let rank = rows.iter().map(|row| row.dims.len()).max()?;
        if rank > MAX_AXES {
            return None;
        }
        let name_width = rows.iter().map(|row| row.name.chars().count()).max()?;
        let text = |dim: &DimId| self.core.dims.display(*dim).to_string();
        let cells: Vec<Vec<String>> = rows
            .iter()
            .map(|row| {
                let missing = if align == Align::Last { rank - row.dims.len() } else { 0 };
                std::iter::repeat_n(String::new(), missing).chain(row.dims.iter().map(text)).collect()
            })
            .collect();
        let column_width = |column: usize, row: usize| {
            let width = |cells: &Vec<String>| cells.get(column).map_or(0, |cell| cell.chars().count());
            if align == Align::None { width(&cells[row]) } else { cells.iter().map(width).max().unwrap_or(0) }
        };
        let mut lines: Vec<String> = Vec::new();
        let mut marks_below: Option<String> = None;
        for (at, (row, cells)) in rows.iter().zip(&cells).enumerate() {
            let mut line = format!("{:name_width$}  ", row.name);
            let mut marks = " ".repeat(name_width + 2);
            let missing = cells.len() - row.dims.len();
            for (column, cell) in cells.iter().enumerate() {
                let width = column_width(column, at);
                let lead = match column {
                    0 if missing > 0 => " ",
                    _ if column < missing => "  ",
                    _ if column == missing && column > 0 => " [",
                    0 => "[",
                    _ => ", ",
                };
                line.push_str(lead);
                marks.push_str(if lead.len() == 1 { " " } else { "  " });
                line.push_str(&format!("{cell:>width$}"));
                let marked = column >= missing && row.marked.contains(&(column - missing));
                let mark = if marked { "^".repeat(cell.chars().count()) } else { String::new() };
                marks.push_str(&format!("{mark:>width$}"));
            }
            line.push_str(if cells.is_empty() { "[]" } else { "]" });
            lines.push(line);
            let marks = marks.trim_end().to_owned();
            if align == Align::None && !marks.is_empty() {
                lines.push(marks);
            } else if !marks.is_empty() {
                marks_below = Some(marks);
            }
        }
        lines.extend(marks_below);
        Some(lines.join("\n"))
    }

    /// What is inferred for a value that a declaration contradicts, and where its element type comes from.
    pub(super) fn inferred_words(&mut self, value: ValueId, shown: &str) -> String {
        let cause = self.cause(value, Doubt::Declaration);
        match self.body().value(value).origin {
            // Said at the node itself, this tells nothing.
            Origin::Step(step) if cause == self.made_by(step) => format!("inferred as {shown}"),
            Origin::Step(_)
            | Origin::Input
            | Origin::InputWithDefault(_)
            | Origin::Initializer(_)
            | Origin::Undefined => {
                format!("inferred as {shown}, {cause}")
            }
        }
    }
}
