//! Inputs that are written on the command line: `4`, `[1, 0, 1]`, `[[0.5, nan]]`, `true`, `"text"`,
//! `{"key": 0.5}`.
//!
//! The notation is that of JSON, with `nan`, `inf` and `-inf`. Nested lists are the axes of a tensor. The
//! element type is that of the input; a number that it does not contain exactly is an error, except that
//! floats are rounded. A bool is also written as 0 or 1, and a single text without quotes. A map is an object
//! of JSON, whose keys are also integers in quotes.

use std::collections::BTreeMap;

use typeloom_runtime::literal::{Literal, LiteralError as Inexact, Scalar};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::map::MapDatum;
use typeloom_tensor::value_type::{Element, ValueType};
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

/// The maximum number of axes.
const MAX_RANK: usize = 32;

/// Error of a written value.
#[derive(Debug, thiserror::Error)]
pub enum LiteralError {
    #[error("{expected} is expected at `{rest}`")]
    Syntax { expected: &'static str, rest: String },
    #[error("list {} has {}, and those before it have {expected}", position(at), counted(*found, "element"))]
    Ragged {
        /// The position of the list in each list around it, the outermost first.
        at: Vec<usize>,
        found: usize,
        expected: usize,
    },
    #[error("elements and lists are at one level{}{}", if at.is_empty() { "" } else { ", at " }, position(at))]
    Mixed {
        /// As for [`LiteralError::Ragged`], of an element.
        at: Vec<usize>,
    },
    #[error("more than {MAX_RANK} lists are nested")]
    TooDeep,
    #[error("`{text}` is no value of type {}", dtype.onnx_name())]
    Element { text: String, dtype: Dtype },
    #[error("a value of type {ty} cannot be written as text; give a `.npy` or `.pb` file")]
    Type { ty: String },
    #[error(transparent)]
    Tensor(#[from] TensorError),
    #[error("the elements cannot be converted: {0}")]
    Cast(String),
}

/// Reads a value of a type.
pub fn read(text: &str, ty: &ValueType) -> Result<Datum, LiteralError> {
    match &ty.element {
        Element::Tensor(Some(dtype)) => tensor(text, *dtype).map(Datum::Tensor),
        Element::Optional(_) if text.trim() == "none" => Ok(Datum::Optional(None)),
        // Types are nested by a bounded number of levels.
        Element::Optional(inner) => Ok(Datum::Optional(Some(Box::new(read(text, inner)?)))),
        Element::Map(key, inner) => map(text, *key, inner, ty),
        _ => Err(LiteralError::Type { ty: ty.to_string() }),
    }
}

/// A map from texts or integers to tensors of one shape.
fn map(text: &str, key: Dtype, inner: &ValueType, ty: &ValueType) -> Result<Datum, LiteralError> {
    let unwritten = || LiteralError::Type { ty: ty.to_string() };
    let Element::Tensor(Some(dtype)) = inner.element else { return Err(unwritten()) };
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)
        .map_err(|_| syntax("an object of JSON with the entries of a map", text))?;
    let wrong = |text: &str| LiteralError::Element { text: text.to_owned(), dtype: key };
    let values = |values: Vec<&serde_json::Value>| {
        let list = serde_json::Value::Array(values.into_iter().cloned().collect());
        tensor(&list.to_string(), dtype)
    };
    let map = match key {
        Dtype::I64 => {
            let number = |(key, value): (&String, _)| {
                str::parse::<i64>(key).map(|number| (number, value)).map_err(|_| wrong(key))
            };
            let parsed: Result<BTreeMap<i64, _>, _> = object.iter().map(number).collect();
            let (keys, list): (Vec<i64>, _) = parsed?.into_iter().unzip();
            MapDatum::new(AnyTensor::from(keys), values(list)?)
        }
        Dtype::String => {
            let (keys, list): (Vec<&String>, _) =
                object.iter().collect::<BTreeMap<_, _>>().into_iter().unzip();
            MapDatum::new(AnyTensor::from_strings(&[keys.len()], &keys)?, values(list)?)
        }
        _ => return Err(unwritten()),
    };
    Ok(Datum::Map(Box::new(map.map_err(|_| unwritten())?)))
}

fn tensor(text: &str, dtype: Dtype) -> Result<AnyTensor, LiteralError> {
    if dtype == Dtype::String && !text.trim_start().starts_with(['[', '"']) {
        return Ok(AnyTensor::from_strings(&[], &[text])?);
    }
    let Parsed { shape, leaves } = parse(text)?;
    let (texts, elements): (Vec<String>, _) = leaves.into_iter().map(|leaf| (leaf.text, leaf.value)).unzip();
    Literal { shape, elements, ragged: None }.tensor(dtype).map_err(|error| match error {
        // The element as it is written.
        Inexact::Element { at, dtype, .. } => LiteralError::Element { text: texts[at].clone(), dtype },
        Inexact::Complex { dtype } => LiteralError::Type { ty: dtype.onnx_name().to_owned() },
        Inexact::NoValue { ty } => LiteralError::Type { ty: ty.to_string() },
        Inexact::Tensor(error) => LiteralError::Tensor(error),
        Inexact::Ragged { first, row, found } => {
            LiteralError::Ragged { at: vec![row], found, expected: first }
        }
        Inexact::Cast(error) => LiteralError::Cast(error),
    })
}

/// An element with its text, for messages.
#[derive(Debug)]
struct Leaf {
    text: String,
    value: Scalar,
}

#[derive(Debug)]
struct Parsed {
    shape: Vec<usize>,
    leaves: Vec<Leaf>,
}

fn syntax(expected: &'static str, rest: &str) -> LiteralError {
    LiteralError::Syntax { expected, rest: rest.chars().take(20).collect() }
}

/// Parses nested lists. `counts` has the number of items of each open list.
fn parse(text: &str) -> Result<Parsed, LiteralError> {
    let mut rest = text.trim_start();
    let mut counts: Vec<usize> = Vec::new();
    let mut extents: Vec<Option<usize>> = Vec::new();
    let mut leaves = Vec::new();
    let mut depth = None;
    loop {
        // A value.
        let mut closes = false;
        if let Some(after) = rest.strip_prefix('[') {
            if counts.len() == MAX_RANK {
                return Err(LiteralError::TooDeep);
            }
            counts.push(0);
            if extents.len() < counts.len() {
                extents.push(None);
            }
            rest = after.trim_start();
            closes = rest.starts_with(']');
            if !closes {
                continue;
            }
        } else {
            let (leaf, after) = leaf(rest)?;
            if *depth.get_or_insert(counts.len()) != counts.len() {
                return Err(LiteralError::Mixed { at: counts });
            }
            leaves.push(leaf);
            rest = after.trim_start();
        }
        // The ends of lists after a value, up to the next comma.
        loop {
            if !closes && let Some(count) = counts.last_mut() {
                *count += 1;
            }
            closes = false;
            if counts.is_empty() {
                if !rest.is_empty() {
                    return Err(syntax("the end", rest));
                }
                if depth.is_some_and(|depth| depth != extents.len()) {
                    // An element is as deep as an empty list.
                    return Err(LiteralError::Mixed { at: Vec::new() });
                }
                let shape = extents.into_iter().map(Option::unwrap_or_default).collect();
                return Ok(Parsed { shape, leaves });
            }
            if let Some(after) = rest.strip_prefix(',') {
                rest = after.trim_start();
                break;
            }
            let Some(after) = rest.strip_prefix(']') else { return Err(syntax("`,` or `]`", rest)) };
            rest = after.trim_start();
            let count = counts.pop().unwrap_or_default();
            let expected = *extents[counts.len()].get_or_insert(count);
            if expected != count {
                return Err(LiteralError::Ragged { at: counts, found: count, expected });
            }
        }
    }
}

/// The position of a list or an element, as indices: `[1][0]`.
fn position(at: &[usize]) -> String {
    at.iter().map(|index| format!("[{index}]")).collect()
}

fn leaf(rest: &str) -> Result<(Leaf, &str), LiteralError> {
    if rest.starts_with('"') {
        let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let Some(Ok(text)) = strings.next() else { return Err(syntax("a text in double quotes", rest)) };
        let end = strings.byte_offset();
        let leaf = Leaf { text: rest[..end].to_owned(), value: Scalar::Text(text) };
        return Ok((leaf, &rest[end..]));
    }
    let end = rest.find(|c: char| c.is_whitespace() || ",[]".contains(c)).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    let value = match word {
        "true" => Some(Scalar::Bool(true)),
        "false" => Some(Scalar::Bool(false)),
        word => {
            let integer = word.parse().ok().map(Scalar::Int);
            integer.or_else(|| word.parse().ok().map(Scalar::Float))
        }
    };
    let value = value.ok_or_else(|| syntax("a number, `true`, `false` or a text in double quotes", rest))?;
    Ok((Leaf { text: word.to_owned(), value }, after))
}

#[cfg(test)]
mod tests {
    use super::super::cast;
    use super::*;

    fn of(text: &str, dtype: Dtype) -> Result<(Vec<usize>, Vec<f64>), LiteralError> {
        let tensor = tensor(text, dtype)?;
        let numbers = cast(&tensor, Dtype::F64).unwrap().to_vec::<f64>().unwrap();
        assert_eq!(tensor.dtype(), dtype);
        Ok((tensor.shape().to_vec(), numbers))
    }

    #[test]
    fn nested_lists_are_tensors_of_the_type_of_the_input() {
        assert_eq!(of("4", Dtype::I64).unwrap(), (vec![], vec![4.0]));
        assert_eq!(of(" [ 1 , 0,1 ] ", Dtype::Bool).unwrap(), (vec![3], vec![1.0, 0.0, 1.0]));
        assert_eq!(of("true", Dtype::Bool).unwrap(), (vec![], vec![1.0]));
        assert_eq!(of("[[1, -2.5], [3e2, inf]]", Dtype::F32).unwrap().0, [2, 2]);
        assert_eq!(of("[0.5]", Dtype::BF16).unwrap(), (vec![1], vec![0.5]));
        assert_eq!(of("[-8, 7]", Dtype::Int4).unwrap(), (vec![2], vec![-8.0, 7.0]));
        assert_eq!(of("18446744073709551615", Dtype::U64).unwrap().1, [u64::MAX as f64]);
        assert_eq!(of("[]", Dtype::F32).unwrap(), (vec![0], vec![]));
        assert_eq!(of("[[], []]", Dtype::F32).unwrap(), (vec![2, 0], vec![]));
        assert!(of("nan", Dtype::F64).unwrap().1[0].is_nan());
    }

    #[test]
    fn texts_need_quotes_in_lists_only() {
        let strings = |text: &str| {
            let tensor = tensor(text, Dtype::String).unwrap();
            (tensor.shape().to_vec(), tensor.strings().unwrap().map(str::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(strings("two words"), (vec![], vec!["two words".to_owned()]));
        assert_eq!(strings(r#""a=\"b\"""#), (vec![], vec!["a=\"b\"".to_owned()]));
        assert_eq!(strings(r#"["a,]", "b"]"#), (vec![2], vec!["a,]".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn an_error_names_the_element_or_the_text_where_it_is() {
        let message = |text: &str, dtype: Dtype| of(text, dtype).unwrap_err().to_string();
        assert_eq!(message("4.5", Dtype::I64), "`4.5` is no value of type int64");
        assert_eq!(message("[1, 300]", Dtype::U8), "`300` is no value of type uint8");
        assert_eq!(message("-1", Dtype::U64), "`-1` is no value of type uint64");
        assert_eq!(message("2", Dtype::Bool), "`2` is no value of type bool");
        assert_eq!(message("true", Dtype::F32), "`true` is no value of type float");
        assert_eq!(message("[1] 2", Dtype::F32), "the end is expected at `2`");
        assert_eq!(message("[1 2]", Dtype::F32), "`,` or `]` is expected at `2]`");
        assert!(message("[1,]", Dtype::F32).ends_with("is expected at `]`"));
        assert!(message("[", Dtype::F32).ends_with("is expected at ``"));
        for (ragged, expected) in [
            ("[[1, 2], [3]]", "list [1] has 1 element, and those before it have 2"),
            ("[[1], []]", "list [1] has 0 elements, and those before it have 1"),
            ("[[[1], [2]], [[3], [4, 5]]]", "list [1][1] has 2 elements, and those before it have 1"),
            ("[[], [[]]]", "list [1] has 1 element, and those before it have 0"),
            ("[[1], 2]", "elements and lists are at one level, at [1]"),
            ("[1, [2]]", "elements and lists are at one level, at [1][0]"),
            ("[[[]], [1]]", "elements and lists are at one level"),
        ] {
            assert_eq!(message(ragged, Dtype::F32), expected, "{ragged}");
        }
        assert_eq!(message(&"[".repeat(1000), Dtype::F32), "more than 32 lists are nested");
    }
}
