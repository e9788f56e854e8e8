//! The textual syntax: parser and printer.
