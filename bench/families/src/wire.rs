//! Minimal protobuf encoder for models, and a decoder that counts nodes.
//!
//! Independent of the crates under test, so that an error in them cannot also affect the measured models. Not
//! for untrusted input: a malformed message counts as having no nodes.

/// A message under construction; fields appear in the order of the calls.
#[derive(Default, Clone)]
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// Appends a varint field: integers, booleans and enumerations.
    pub fn int(&mut self, field: u32, value: i64) {
        self.tag(field, 0);
        self.varint(value.cast_unsigned());
    }

    /// Appends a length-delimited field: bytes, or a string in UTF-8.
    pub fn bytes(&mut self, field: u32, value: &[u8]) {
        self.open(field, value.len());
        self.bytes.extend_from_slice(value);
    }

    pub fn text(&mut self, field: u32, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    pub fn message(&mut self, field: u32, value: &Message) {
        self.bytes(field, &value.bytes);
    }

    /// Appends the tag and length of a length-delimited field whose content the caller writes afterwards.
    pub fn open(&mut self, field: u32, length: usize) {
        self.tag(field, 2);
        self.varint(length as u64);
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends the fields of `other`.
    pub fn merge(&mut self, other: &Message) {
        self.bytes.extend_from_slice(&other.bytes);
    }

    fn tag(&mut self, field: u32, kind: u32) {
        self.varint(u64::from(field << 3 | kind));
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

/// Counts the nodes in the main graph of a model, without nested graphs.
pub fn count_nodes(model: &[u8]) -> u64 {
    let graphs = fields(model).filter(|(field, _)| *field == 7);
    graphs.map(|(_, graph)| fields(graph).filter(|(field, _)| *field == 1).count() as u64).sum()
}

/// Iterates over the fields of an encoded message: number, and content if length-delimited.
pub fn fields(message: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    Fields(message)
}

/// Iterator over fields that ends at the first malformed one.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let tag = self.varint()?;
        let length = match tag & 7 {
            0 => {
                self.varint()?;
                0
            }
            1 => 8,
            2 => usize::try_from(self.varint()?).ok()?,
            5 => 4,
            _ => return None,
        };
        let (content, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some((tag >> 3, content))
    }
}

impl Fields<'_> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_counted_past_other_fields() {
        let mut graph = Message::default();
        graph.text(2, "g");
        for _ in 0..3 {
            graph.message(1, &Message::default());
        }
        let mut model = Message::default();
        model.int(1, 300);
        model.message(7, &graph);
        assert_eq!(count_nodes(model.as_bytes()), 3);
        assert_eq!(count_nodes(&model.as_bytes()[..4]), 0);
    }

    #[test]
    fn negative_integers_take_ten_bytes() {
        let mut message = Message::default();
        message.int(1, -1);
        assert_eq!(message.as_bytes().len(), 11);
        assert!(Fields(message.as_bytes()).eq([(1, &[][..])]));
    }
}
