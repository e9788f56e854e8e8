//! Insertion of `Cast` nodes before the nodes that read a value.

use typeloom_onnx::splice::Records;
use typeloom_solver::diagnostic::{Location, Reader};
use typeloom_solver::elem::Elem;

use super::{Editor, imported};
use crate::coerce::{NewNode, cast};
use crate::fields::NODE_INPUT;

/// The operator set version of a `Cast` in a body that imports none.
const CAST_VERSION: i64 = 21;

impl Editor<'_> {
    /// Inserts a `Cast` node for each reader, directly before it.
    pub(super) fn insert_casts(
        &mut self,
        location: &Location,
        input: usize,
        to: &str,
        readers: &[Reader],
    ) -> Option<()> {
        let to = Elem::from_onnx_name(to)?;
        let readers = readers.iter().map(|reader| (&reader.location, reader.input));
        for (location, input) in [(location, input)].into_iter().chain(readers) {
            let Self { model, layouts, splice, names, .. } = self;
            let site = Self::site(layouts, location)?;
            let index = location.node.as_ref()?.index;
            let (node, record) = (*site.graph.nodes.get(index)?, site.graph.records.get(index)?);
            let fields = node.wire_fields().flatten().filter(|field| field.number == NODE_INPUT);
            let port = fields.into_iter().nth(input)?;
            let value = node.inputs().nth(input)?.ok()?;
            let output = names.fresh(&format!("{value}_as_{}", to.onnx_name()?));
            let name = names.fresh(&format!("Cast_{output}"));
            let version = imported(model, site.layout.source(), "").unwrap_or(CAST_VERSION);
            let new = cast(&NewNode { name: &name, input: value, output: &output }, to, version);
            splice.insert_before(
                site.graph.source.offset(),
                record,
                Records::new().message(record.number, &new),
            );
            splice.replace(node.offset(), &port, Records::new().bytes(NODE_INPUT, &output));
        }
        Some(())
    }
}
