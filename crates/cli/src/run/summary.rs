//! Short text summaries of values.

use typeloom_project::parts::onnx::text::escape;
use typeloom_project::parts::tensor::any_tensor::AnyTensor;
use typeloom_project::parts::tensor::datum::Datum;
use typeloom_project::parts::types::dtype::Dtype;
use typeloom_project::parts::types::dtype::DtypeClass;
use typeloom_project::run::cast;

use crate::output::MAX_COLUMN;

/// Maximum number of elements to list individually.
const MAX_LISTED: usize = 8;

/// A number with about five digits.
fn short(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let digits = 4 - value.abs().log10().floor().clamp(-4.0, 4.0) as i32;
    let text = format!("{value:.*}", usize::try_from(digits).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The first entries of a map, or of the first map of a sequence.
fn entries(value: &Datum) -> Option<String> {
    let (map, more) = match value {
        Datum::Map(map) => (&**map, ""),
        Datum::Sequence(values) => (values.first()?.as_map()?, if values.len() > 1 { ", ..." } else { "" }),
        _ => return None,
    };
    let texts = |tensor: &AnyTensor| match tensor.strings() {
        Ok(texts) => Some(texts.take(MAX_LISTED).map(|text| format!("{text:?}")).collect::<Vec<_>>()),
        Err(_) => {
            let numbers = cast(tensor, Dtype::F64).ok()?.to_vec::<f64>().ok()?;
            Some(numbers.into_iter().take(MAX_LISTED).map(short).collect())
        }
    };
    // Values of other ranks are not listed.
    let values = texts(map.values()).filter(|_| map.values().rank() == 1)?;
    let listed: Vec<String> =
        texts(map.keys())?.iter().zip(values).map(|(key, value)| format!("{key}: {value}")).collect();
    let rest = if map.len() > MAX_LISTED { ", ..." } else { "" };
    Some(format!("{{{}{rest}}}{more}", listed.join(", ")))
}

/// Number of elements that are converted together: whole bytes of any type.
const PART: usize = 1 << 16;

/// Passes the elements as numbers, part by part, so that they take little memory. False if they are no
/// numbers.
fn each_number(tensor: &AnyTensor, mut each: impl FnMut(f64)) -> bool {
    let (dtype, len) = (tensor.dtype(), tensor.len());
    let bytes = |elements: usize| AnyTensor::byte_len(dtype, &[elements]).unwrap_or(0);
    for first in (0..len).step_by(PART) {
        let count = PART.min(len - first);
        let part = tensor.bytes().get(bytes(first)..).and_then(|rest| rest.get(..bytes(count)));
        let part = part.and_then(|part| AnyTensor::from_le_bytes(dtype, &[count], part).ok());
        let wide = part.and_then(|part| cast(&part, Dtype::F64).ok());
        match wide.as_ref().map(AnyTensor::as_slice::<f64>) {
            Some(Ok(list)) => list.iter().copied().for_each(&mut each),
            Some(Err(_)) | None => return false,
        }
    }
    true
}

/// The elements of a small tensor, or the minimum, mean and maximum.
fn elements(tensor: &AnyTensor) -> String {
    if let Ok(strings) = tensor.strings() {
        let shown: Vec<String> = strings.take(MAX_LISTED).map(|text| format!("{text:?}")).collect();
        return shown.join(", ");
    }
    if tensor.dtype().class() == DtypeClass::Complex {
        return String::new();
    }
    let (mut listed, mut nans) = (Vec::new(), 0_usize);
    let (mut min, mut max, mut sum) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
    let is_shown = each_number(tensor, |value| {
        if listed.len() < MAX_LISTED {
            listed.push(short(value));
        }
        (min, max, sum) = (min.min(value), max.max(value), sum + value);
        nans += usize::from(value.is_nan());
    });
    if !is_shown {
        return String::new();
    }
    if tensor.len() <= MAX_LISTED {
        return listed.join(", ");
    }
    let mean = sum / tensor.len() as f64;
    let nans = if nans == 0 { String::new() } else { format!(", {nans} not a number") };
    format!("{} to {}, mean {}{nans}", short(min), short(max), short(mean))
}

/// One line per value.
pub(crate) fn table(values: &[(String, Datum)]) -> String {
    let rows: Vec<[String; 3]> = values
        .iter()
        .map(|(name, value)| {
            let elements = value.as_tensor().map(elements).or_else(|| entries(value)).unwrap_or_default();
            [name, &value.describe(), &elements].map(|text| escape(text).into_owned())
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (names, types) = (width(0).min(MAX_COLUMN), width(1).min(MAX_COLUMN));
    let line = |[name, ty, elements]: &[String; 3]| {
        format!("  {name:<names$}  {ty:<types$}  {elements}").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
