//! Tables of numbers in CSV files (RFC 4180, any line ending), read by the crate `csv`.

use csv::{ErrorKind, ReaderBuilder, StringRecord};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use crate::dense::{FloatsError, NotFloats, tensor_of};

/// Format of a CSV file and selection of its columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// Content of the first line.
    pub first_line: FirstLine,
    /// Field separator.
    pub separator: u8,
    /// Columns to read, in this order.
    pub columns: Columns,
    /// Element type of the tensor: a float type.
    pub dtype: Dtype,
}

impl Default for Table {
    /// All columns, with a header line, separated by commas, as 32-bit floats.
    fn default() -> Self {
        Self { first_line: FirstLine::Names, separator: b',', columns: Columns::All, dtype: Dtype::F32 }
    }
}

/// Content of the first line of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstLine {
    /// Column names.
    Names,
    /// Numbers, like the other lines.
    Numbers,
}

/// Selection of columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Columns {
    All,
    /// The columns with these names, in this order.
    Named(Vec<String>),
    /// The columns at these zero-based positions, in this order.
    At(Vec<usize>),
}

/// Error of reading a CSV file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CsvError {
    /// A line has more or fewer fields than the first line.
    #[error("line {line} has {}, but the lines before it have {expected}", counted(*found, "field"))]
    Ragged {
        /// One-based line number.
        line: u64,
        expected: u64,
        found: u64,
    },
    /// A line is not valid UTF-8.
    #[error("line {line} is not valid UTF-8")]
    NoText {
        /// One-based line number.
        line: u64,
    },
    /// A field is not a number.
    #[error("line {line}, column {column}: `{text}` is not a number")]
    NoNumber {
        /// One-based line number.
        line: u64,
        /// One-based column number.
        column: usize,
        /// Beginning of the field.
        text: String,
    },
    /// No column has this name.
    #[error("there is no column `{name}`")]
    NoColumn {
        /// Name requested in [`Columns::Named`].
        name: String,
    },
    /// Several columns have the same name.
    #[error("more than one column is called `{name}`")]
    ColumnTwice {
        /// Name requested in [`Columns::Named`].
        name: String,
    },
    /// The line has no column at this position.
    #[error("there is no column {position}: each line has {}", counted(*found, "field"))]
    NoPosition {
        /// Zero-based position.
        position: usize,
        found: usize,
    },
    /// The requested element type is not a float type.
    #[error(transparent)]
    ElementType(#[from] NotFloats),
    /// The values do not form a tensor.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// Any other error of the CSV reader.
    #[error("{0}")]
    Malformed(String),
}

impl From<csv::Error> for CsvError {
    fn from(error: csv::Error) -> Self {
        let line = error.position().map_or(0, csv::Position::line);
        match error.kind() {
            ErrorKind::UnequalLengths { expected_len, len, .. } => {
                Self::Ragged { line, expected: *expected_len, found: *len }
            }
            ErrorKind::Utf8 { .. } => Self::NoText { line },
            _ => Self::Malformed(error.to_string()),
        }
    }
}

/// Reads a file as a tensor of shape `[lines, columns]`.
///
/// # Errors
/// [`CsvError`].
pub fn read(bytes: &[u8], table: &Table) -> Result<AnyTensor, CsvError> {
    // Check the element type first, so that it is rejected for empty files too.
    tensor_of(table.dtype, &[0], &[]).map_err(only_floats)?;
    let mut reader = ReaderBuilder::new()
        .has_headers(table.first_line == FirstLine::Names)
        .delimiter(table.separator)
        .trim(csv::Trim::All)
        .from_reader(bytes);
    let names = match table.first_line {
        FirstLine::Names => Some(reader.headers()?.clone()),
        FirstLine::Numbers => None,
    };
    let mut columns = names.as_ref().map(|names| table.columns.positions(Some(names), names.len()));
    let (mut values, mut rows) = (Vec::new(), 0);
    let mut record = StringRecord::new();
    while reader.read_record(&mut record)? {
        let columns =
            columns.get_or_insert_with(|| table.columns.positions(names.as_ref(), record.len())).as_ref();
        let columns = columns.map_err(Clone::clone)?;
        for column in columns {
            let text = &record[*column];
            values.push(number(text, table.dtype).ok_or_else(|| CsvError::NoNumber {
                line: record.position().map_or(0, csv::Position::line),
                column: column + 1,
                text: text.chars().take(40).collect(),
            })?);
        }
        rows += 1;
    }
    let width = columns.unwrap_or(Ok(Vec::new()))?.len();
    tensor_of(table.dtype, &[rows, width], &values).map_err(only_floats)
}

fn only_floats(error: FloatsError) -> CsvError {
    match error {
        FloatsError::NotFloats(error) => error.into(),
        FloatsError::Tensor(error) => error.into(),
    }
}

/// Parses a number. A number for a 32-bit float is parsed as one, to avoid double rounding.
fn number(text: &str, dtype: Dtype) -> Option<f64> {
    if dtype == Dtype::F32 { text.parse::<f32>().ok().map(f64::from) } else { text.parse().ok() }
}

impl Columns {
    fn positions(&self, names: Option<&StringRecord>, count: usize) -> Result<Vec<usize>, CsvError> {
        match self {
            Self::All => Ok((0..count).collect()),
            Self::At(positions) => match positions.iter().find(|position| **position >= count) {
                Some(position) => Err(CsvError::NoPosition { position: *position, found: count }),
                None => Ok(positions.clone()),
            },
            Self::Named(wanted) => wanted
                .iter()
                .map(|name| {
                    let named = names.into_iter().flatten().enumerate();
                    let mut found = named.filter(|(_, other)| other == name).map(|(at, _)| at);
                    match (found.next(), found.next()) {
                        (Some(at), None) => Ok(at),
                        (Some(_), Some(_)) => Err(CsvError::ColumnTwice { name: name.clone() }),
                        (None, _) => Err(CsvError::NoColumn { name: name.clone() }),
                    }
                })
                .collect(),
        }
    }
}
