//! The columns of the format.

use super::bytes::{Reader, Writer};
use super::{Error, MAGIC, VERSION, WITHOUT_TARGETS};

macro_rules! columns {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// The number of columns.
        #[cfg(test)]
        pub(super) const COUNT: usize = [$(stringify!($name)),*].len();

        /// The columns during encoding.
        #[derive(Debug, Default)]
        pub(super) struct Columns {
            $($(#[doc = $doc])* pub(super) $name: Writer,)*
            /// The targets, in a column of version 4.
            pub(super) targets: Writer,
        }

        impl Columns {
            /// The bytes of a scene.
            pub(super) fn finish(self) -> Vec<u8> {
                let mut out = Writer(MAGIC.to_vec());
                let has_targets = !self.targets.0.is_empty();
                out.number(if has_targets { VERSION } else { WITHOUT_TARGETS });
                let mut columns = vec![$(self.$name.0),*];
                columns.extend(has_targets.then_some(self.targets.0));
                for column in columns {
                    out.count(column.len());
                    out.0.extend_from_slice(&column);
                }
                out.0
            }
        }

        /// The columns during decoding.
        #[derive(Debug)]
        pub(super) struct Input<'a> {
            $(pub(super) $name: Reader<'a>,)*
            pub(super) targets: Reader<'a>,
        }

        impl<'a> Input<'a> {
            pub(super) fn split(bytes: &'a [u8]) -> Result<Self, Error> {
                let rest = bytes.strip_prefix(MAGIC).ok_or(Error::Magic)?;
                let mut rest = Reader::new("scene", rest);
                let found = rest.number()?;
                if found != VERSION && found != WITHOUT_TARGETS {
                    return Err(Error::Version { found });
                }
                let column = |rest: &mut Reader<'a>, name| {
                    let length = rest.count()?;
                    Ok(Reader::new(name, rest.bytes(length)?))
                };
                let input = Self {
                    $($name: column(&mut rest, stringify!($name))?,)*
                    targets: match found {
                        VERSION => column(&mut rest, "targets")?,
                        _ => Reader::new("targets", &[]),
                    },
                };
                rest.finish()?;
                Ok(input)
            }

            /// Checks that all columns are read.
            pub(super) fn finish(self) -> Result<(), Error> {
                $(self.$name.finish()?;)*
                self.targets.finish()
            }
        }
    };
}

columns! {
    /// Facts about the model as a whole.
    about,
    /// The number of nodes, values and graphs.
    counts,
    operators,
    rules,
    /// The extents of types and small tensors, each once.
    extents,
    /// The texts of types without their shapes, each list once.
    type_texts,
    long_type_texts,
    /// The types, each once: its texts, and the extents of its shapes.
    types,
    /// The elements of small tensors, each list once.
    previews,
    /// The kind of each graph, and the node of a nested one.
    graphs,
    /// The inputs and outputs of graphs.
    ports,
    /// The numbers of nodes between the beginnings and ends of groups.
    runs,
    /// Beginnings and ends of groups.
    brackets,
    label_shared,
    label_lengths,
    label_texts,
    /// The classes of scopes, each once.
    classes,
    group_class,
    long_classes,
    node_operator,
    node_shared,
    node_lengths,
    node_texts,
    node_position,
    /// Lists of attributes, each once.
    attributes,
    node_attributes,
    long_attributes,
    input_count,
    inputs,
    output_count,
    outputs,
    capture_count,
    captures,
    node_callee,
    /// Source lines, each once.
    sources,
    node_source,
    long_sources,
    value_kind,
    value_type,
    value_graph,
    value_base,
    value_shared,
    value_lengths,
    value_texts,
    value_preview,
    value_cause,
    cause_rule,
    cause_nodes,
    cause_values,
    marks,
    changes,
}
