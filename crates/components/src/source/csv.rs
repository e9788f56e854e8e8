//! Tables of numbers in CSV files, by the crate `csv` (RFC 4180, any line ends).

use csv::{ErrorKind, ReaderBuilder, StringRecord};
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

use crate::dense::{FloatsError, NotFloats, tensor_of};

/// How a file is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// What its first line is.
    pub first_line: FirstLine,
    /// What stands between two fields.
    pub separator: u8,
    /// Which columns are taken, in this order.
    pub columns: Columns,
    /// What the numbers become: a type of floats.
    pub dtype: Dtype,
}

impl Default for Table {
    /// All columns under a line of names, between commas, as 32-bit floats.
    fn default() -> Self {
        Self { first_line: FirstLine::Names, separator: b',', columns: Columns::All, dtype: Dtype::F32 }
    }
}

/// What the first line of a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstLine {
    /// The names of the columns.
    Names,
    /// Numbers, as the others.
    Numbers,
}

/// Which columns are taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Columns {
    /// Every one.
    All,
    /// Those of these names, in this order.
    Named(Vec<String>),
    /// Those at these positions from 0 on, in this order.
    At(Vec<usize>),
}

/// What is wrong with a file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CsvError {
    /// A line has more or fewer fields than the first.
    #[error("line {line} has {found} fields, and those before it have {expected}")]
    Ragged {
        /// The line, from 1 on.
        line: u64,
        /// How many fields the others have.
        expected: u64,
        /// How many it has.
        found: u64,
    },
    /// A line that is no text.
    #[error("line {line} is no UTF-8")]
    NoText {
        /// The line, from 1 on.
        line: u64,
    },
    /// A field that is no number.
    #[error("line {line}, column {column}: `{text}` is no number")]
    NoNumber {
        /// The line, from 1 on.
        line: u64,
        /// The column, from 1 on.
        column: usize,
        /// The beginning of the field.
        text: String,
    },
    /// There is no column of this name.
    #[error("there is no column `{name}`")]
    NoColumn {
        /// The name.
        name: String,
    },
    /// Two columns have a name.
    #[error("more than one column is called `{name}`")]
    ColumnTwice {
        /// The name.
        name: String,
    },
    /// There is no column at this position.
    #[error("there is no column {position}: each line has {found} fields")]
    NoPosition {
        /// The position, from 0 on.
        position: usize,
        /// How many columns there are.
        found: usize,
    },
    /// The numbers cannot be of the type that was asked for.
    #[error(transparent)]
    ElementType(#[from] NotFloats),
    /// The numbers make no tensor.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// Anything else that the reader says.
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

/// The numbers of a file, a row for each line: of shape `[lines, columns]`.
///
/// # Errors
/// [`CsvError`].
pub fn read(bytes: &[u8], table: &Table) -> Result<AnyTensor, CsvError> {
    // The element type first, so that it is refused for empty files too.
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

/// A number; read as a 32-bit float where it becomes one, so that it is rounded once.
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
