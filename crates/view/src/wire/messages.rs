//! The parts of messages.

use super::Error;
use super::bytes::{Reader, Writer};
use crate::scene::{Excerpt, ExcerptLabel, ExcerptLine, Message, NodeId, ValueId};

/// Writes the parts of a message.
pub(super) fn write(message: &Message, out: &mut Writer) {
    let Message { excerpts, notes, help, source } = message;
    out.count(excerpts.len());
    for Excerpt { location, node, value, lines } in excerpts {
        out.text(location);
        out.count(node.map_or(0, |node| node.index() + 1));
        out.count(value.map_or(0, |value| value.index() + 1));
        out.count(lines.len());
        for ExcerptLine { text, labels } in lines {
            out.text(text);
            out.count(labels.len());
            for ExcerptLabel { span, text, is_primary } in labels {
                out.number(span.start.into());
                out.number((span.end - span.start).into());
                out.byte(u8::from(*is_primary));
                out.text(text);
            }
        }
    }
    out.count(notes.len());
    notes.iter().for_each(|note| out.text(note));
    out.text(help);
    out.text(source);
}

/// Reads the parts of a message of a scene with these numbers of nodes and values.
pub(super) fn read(input: &mut Reader<'_>, nodes: usize, values: usize) -> Result<Message, Error> {
    let mut message = Message::default();
    for _ in 0..input.count()? {
        let location = input.text()?.to_owned();
        let node = input.position(nodes + 1)?.checked_sub(1).map(NodeId::new);
        let value = input.position(values + 1)?.checked_sub(1).map(ValueId::new);
        let mut lines = Vec::new();
        for _ in 0..input.count()? {
            lines.push(line(input)?);
        }
        message.excerpts.push(Excerpt { location, node, value, lines });
    }
    for _ in 0..input.count()? {
        message.notes.push(input.text()?.to_owned());
    }
    message.help = input.text()?.to_owned();
    message.source = input.text()?.to_owned();
    Ok(message)
}

fn line(input: &mut Reader<'_>) -> Result<ExcerptLine, Error> {
    let text = input.text()?.to_owned();
    let mut labels = Vec::new();
    for _ in 0..input.count()? {
        let start = input.small()?;
        let end =
            start.checked_add(input.small()?).filter(|end| text.get(start as usize..*end as usize).is_some());
        let end = end.ok_or_else(|| input.invalid("a label is outside of its line"))?;
        let is_primary = match input.byte()? {
            0 => false,
            1 => true,
            _ => return Err(input.invalid("the kind of a label is unknown")),
        };
        labels.push(ExcerptLabel { span: start..end, text: input.text()?.to_owned(), is_primary });
    }
    Ok(ExcerptLine { text, labels })
}
