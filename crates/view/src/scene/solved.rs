//! Types and elements of a solve as those of a scene.
//!
//! Values of a model share few types, so each is converted once: by its key in the solve, which needs no copy
//! of the type, or else by the type. A dim becomes an extent once, with its text. Unknown extents of different
//! values have one text, and are one extent of the scene.
//!
//! **Cost:** for a value with a known type a look-up, or one copy of the type of a value without a key.

use std::fmt::{self, Write};

use typeloom_dim::{DimId, Dims};
use typeloom_solver::model::Checked;
use typeloom_solver::model::TensorKey;
use typeloom_solver::program;
use typeloom_solver::rule::Ints;
use typeloom_solver::solution::{self, TypeWriter};

use super::about::Symbols;
use super::attributes::Elements;
use super::types::{Tables, stored_text};
use super::{Extent, ExtentId, Form, Preview, PreviewId, Scene, Type, TypeId, ValueId};
use crate::map::Map;

/// A type of the scene that comes from the solve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Converted {
    pub(super) ty: TypeId,
    /// Whether all of it is known down to the extents; these can be unknown.
    pub(super) is_complete: bool,
}

/// The converted types of a check.
#[derive(Debug, Default)]
pub(super) struct Solved {
    tables: Tables,
    extents: Map<DimId, ExtentId>,
    types: Map<solution::Type, Converted>,
    keys: Map<TensorKey, Converted>,
}

impl Solved {
    /// The type of a value of the main graph. Its symbols are added.
    pub(super) fn value(
        &mut self,
        checked: &mut Checked<'_>,
        symbols: &mut Symbols,
        value: program::ValueId,
        id: ValueId,
    ) -> Converted {
        let has_cases = !checked.alternatives(value).is_empty();
        let key = if has_cases { None } else { checked.tensor_key(value) };
        if let Some(known) = key.and_then(|key| self.keys.get(&key)) {
            return *known;
        }
        let ty = checked.type_of(value);
        symbols.add(checked.dims(), &ty, id);
        if has_cases {
            return self.convert(checked.dims(), &ty, |draft| checked.write_type(value, &ty, draft));
        }
        let converted = self.ty(checked, &ty);
        if let Some(key) = key {
            self.keys.insert(key, converted);
        }
        converted
    }

    /// A type of the solve.
    pub(super) fn ty(&mut self, checked: &Checked<'_>, ty: &solution::Type) -> Converted {
        if let Some(known) = self.types.get(ty) {
            return *known;
        }
        let converted = self.convert(checked.dims(), ty, |draft| ty.write(checked.universe(), draft));
        self.types.insert(ty.clone(), converted);
        converted
    }

    fn convert(
        &mut self,
        dims: &Dims,
        ty: &solution::Type,
        write: impl FnOnce(&mut Draft<'_>) -> fmt::Result,
    ) -> Converted {
        let Self { tables, extents, .. } = self;
        let mut draft = Draft { dims, tables, extents, texts: vec![String::new()], shapes: Vec::new() };
        // A draft takes every type.
        let _ = write(&mut draft);
        let Draft { texts, shapes, .. } = draft;
        let is_complete = ty.is_concrete() && ty.tensors().all(|tensor| tensor.shape.is_some());
        Converted { ty: self.tables.ty(Type { texts, shapes }), is_complete }
    }

    /// The elements of a value of the main graph that is no tensor in the file.
    pub(super) fn computed(&mut self, dims: &Dims, ints: &Ints) -> PreviewId {
        let form = if ints.shape.is_empty() && ints.items.len() == 1 { Form::Scalar } else { Form::List };
        let Self { tables, extents, .. } = self;
        let elements = ints.items.iter().map(|item| extent(dims, tables, extents, *item)).collect();
        self.tables.preview(Preview::Extents { elements, form })
    }

    /// The elements of a tensor in the file.
    pub(super) fn stored(&mut self, elements: Elements) -> PreviewId {
        let preview = match elements {
            Elements::Integers(items, form) => {
                let elements = items.into_iter().map(|item| self.tables.extent(Extent::Number(item)));
                Preview::Extents { elements: elements.collect(), form }
            }
            Elements::Text(text) => Preview::Text(text),
        };
        self.tables.preview(preview)
    }

    /// Stores the tables in the scene.
    pub(super) fn finish(self, scene: &mut Scene) {
        self.tables.finish(scene);
    }
}

/// A type of the scene that is written by the solver.
struct Draft<'d> {
    dims: &'d Dims,
    tables: &'d mut Tables,
    extents: &'d mut Map<DimId, ExtentId>,
    texts: Vec<String>,
    shapes: Vec<Vec<ExtentId>>,
}

impl Draft<'_> {
    fn push(&mut self, shape: Vec<ExtentId>) {
        self.shapes.push(shape);
        self.texts.push(String::new());
    }

    fn extent(&mut self, dim: DimId) -> ExtentId {
        extent(self.dims, self.tables, self.extents, dim)
    }
}

impl Write for Draft<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.texts.last_mut().ok_or(fmt::Error)?.push_str(text);
        Ok(())
    }
}

impl TypeWriter for Draft<'_> {
    fn shape(&mut self, shape: Option<&[DimId]>) -> fmt::Result {
        let extents = match shape {
            Some(dims) => dims.iter().map(|dim| self.extent(*dim)).collect(),
            None => vec![self.tables.extent(Extent::Rest)],
        };
        self.push(extents);
        Ok(())
    }

    fn cases(&mut self, axes: &[Vec<DimId>]) -> fmt::Result {
        let extents = axes.iter().map(|cases| match cases[..] {
            [only] => self.extent(only),
            _ => {
                let texts: Vec<String> =
                    cases.iter().map(|dim| self.dims.display(*dim).to_string()).collect();
                let text = stored_text(texts.join("|"));
                let is_unknown = cases.iter().any(|dim| self.dims.is_anonymous(*dim));
                let extent = if is_unknown { Extent::Unknown(text) } else { Extent::Expression(text) };
                self.tables.extent(extent)
            }
        });
        let extents = extents.collect();
        self.push(extents);
        Ok(())
    }
}

fn extent(dims: &Dims, tables: &mut Tables, known: &mut Map<DimId, ExtentId>, dim: DimId) -> ExtentId {
    *known.entry(dim).or_insert_with(|| {
        if let Some(number) = dims.as_constant(dim) {
            return tables.extent(Extent::Number(number));
        }
        let text = stored_text(dims.display(dim).to_string());
        tables.extent(if dims.is_anonymous(dim) {
            Extent::Unknown(text)
        } else if dims.as_symbol(dim).is_some() {
            Extent::Symbol(text)
        } else {
            Extent::Expression(text)
        })
    })
}
