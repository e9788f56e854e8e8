//! Shapes in notes and labels.

use typeloom_dim::{Decision, DimId};

use super::equations::MAX_INLINE;
use super::scope::escaped;
use super::text::quote_whole;
use super::{Mark, Scope};
use crate::program::StepId;
use crate::rule::{Extent, ExtentRelation, Port};
use crate::solution::Type;

/// The maximum rank of a shape in a note.
pub(super) const MAX_AXES: usize = 16;
/// Maximum number of characters of a name or an extent in a picture of shapes. Widths of formats have 16
/// bits.
const MAX_WIDTH: usize = 1 << 10;

/// One of several shapes that are shown below each other.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) dims: Box<[DimId]>,
    /// The axes that are underlined.
    pub(super) marked: Vec<usize>,
}

/// Alignment of shapes below each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    /// Last axis below last axis, as in broadcasting.
    Last,
    /// First axis below first axis.
    First,
    /// No alignment.
    None,
}

impl Align {
    /// The alignment of shapes whose extents are related.
    pub(super) fn of(relation: ExtentRelation) -> Self {
        if relation.is_broadcast { Self::Last } else { Self::None }
    }
}

impl<'a> Scope<'_, 'a> {
    /// A dim: a number or an expression, or the name of a long expression.
    pub(super) fn dim_text(&self, dim: DimId) -> String {
        self.short(escaped(self.core.dims.display(dim).to_string()), MAX_INLINE)
    }

    /// A dim as a noun: a number, or an expression in backticks.
    pub(super) fn dim_quoted(&self, dim: DimId) -> String {
        let shown = self.dim_text(dim);
        if self.core.dims.as_constant(dim).is_some() { shown } else { format!("`{shown}`") }
    }

    /// A dim as a noun, in full.
    pub(super) fn dim_whole(&self, dim: DimId) -> String {
        let shown = self.core.dims.display(dim).to_string();
        if self.core.dims.as_constant(dim).is_some() { shown } else { quote_whole(&shown) }
    }

    pub(super) fn extent_text(&self, step: StepId, extent: &Extent) -> String {
        let port = self.port_text(step, extent.port);
        match extent.axis {
            Some(axis) => format!("axis {axis} of {port}"),
            None => format!("the extent given by {port}"),
        }
    }

    /// Marks on ports with their types in full, and the origins of their values.
    pub(super) fn shape_marks(&mut self, step: StepId, ports: &[Port]) -> Vec<Mark<'a>> {
        let mut marks = Vec::with_capacity(ports.len());
        for (at, port) in ports.iter().enumerate() {
            let ty = self.port_type(step, *port);
            let shown = self.show(&ty);
            let made_here = matches!(port, Port::Out(_) | Port::BodyIn(..));
            let text = match self.value(step, *port).filter(|_| !made_here) {
                Some(value) => format!("{shown}, {}", self.origin_text(value)),
                None => shown,
            };
            marks.push(Mark { part: self.part(*port), text, primary: at + 1 == ports.len() });
        }
        marks
    }

    /// Adds the lineage of an extent to the mark on its port.
    pub(super) fn mark_lineage(&mut self, step: StepId, port: Port, dim: DimId, marks: &mut [Mark<'a>]) {
        let made_here = matches!(port, Port::Out(_) | Port::BodyIn(..));
        let Some(value) = self.value(step, port).filter(|_| !made_here) else { return };
        let (part, ty) = (self.part(port), self.port_type(step, port));
        let text = self.lineage_text(value, dim);
        let shown = self.show(&ty);
        for mark in marks.iter_mut().filter(|mark| mark.part == part) {
            mark.text = format!("{shown}, {text}");
        }
    }

    pub(super) fn shapes_note(&mut self, step: StepId, extents: &[&Extent], align: Align) -> Option<String> {
        let mut rows = Vec::new();
        for extent in extents {
            let (Some(axis), Type::Tensor(tensor)) = (extent.axis, self.port_type(step, extent.port)) else {
                continue;
            };
            let Some(dims) = tensor.shape else { continue };
            rows.push(Row { name: self.port_text(step, extent.port), dims, marked: vec![axis] });
        }
        if rows.len() > 1 { self.rows(&rows, align) } else { None }
    }

    /// Two shapes below each other, if both are known.
    pub(super) fn two_shapes(
        &mut self,
        (a, first): (&str, &Type),
        (b, second): (&str, &Type),
    ) -> Option<String> {
        let (Type::Tensor(first), Type::Tensor(second)) = (first, second) else { return None };
        let (Some(first), Some(second)) = (&first.shape, &second.shape) else { return None };
        if first == second || first.is_empty() || second.is_empty() {
            return None;
        }
        let mut rows = [(a, first), (b, second)].map(|(name, dims)| Row {
            name: name.to_owned(),
            dims: dims.clone(),
            marked: Vec::new(),
        });
        let [first, second] = &mut rows;
        self.mark_differences(first, second);
        self.rows(&rows, Align::First)
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

    /// Shapes below each other, one per line, with marks below the axes.
    pub(super) fn rows(&self, rows: &[Row], align: Align) -> Option<String> {
        let rank = rows.iter().map(|row| row.dims.len()).max()?;
        if rank > MAX_AXES {
            return None;
        }
        let name_width = rows.iter().map(|row| row.name.chars().count()).max()?;
        let text = |dim: &DimId| escaped(self.core.dims.display(*dim).to_string());
        let cells: Vec<Vec<String>> = rows
            .iter()
            .map(|row| {
                let missing = if align == Align::Last { rank - row.dims.len() } else { 0 };
                std::iter::repeat_n(String::new(), missing).chain(row.dims.iter().map(text)).collect()
            })
            .collect();
        let widest = cells.iter().flatten().map(|cell| cell.chars().count()).max().unwrap_or(0);
        if name_width.max(widest) > MAX_WIDTH {
            return None;
        }
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
}
