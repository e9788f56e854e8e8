//! String operators.

use std::collections::HashSet;

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::layout::broadcast_to;
use super::{Operator, native};
use crate::call::{Call, Outcome, one};
use crate::element::{build, check_size, to_f64s};
use crate::error::{KernelErrorKind, invalid};
use crate::shape::broadcast;
use crate::work;

pub(super) const OPERATORS: &[Operator] = &[
    native("StringConcat", concat),
    native("StringSplit", split),
    native("StringNormalizer", normalize),
    native("RegexFullMatch", full_match),
    native("TfIdfVectorizer", tf_idf),
];

fn concat(call: &mut Call<'_>) -> Outcome {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let shape = broadcast(&[a.shape(), b.shape()])?;
    let (a, b) = (broadcast_to(a, &shape)?, broadcast_to(b, &shape)?);
    check_size(&[a.bytes().len().saturating_add(b.bytes().len())], 2)?;
    let joined: Vec<String> = a.strings()?.zip(b.strings()?).map(|(a, b)| format!("{a}{b}")).collect();
    one(AnyTensor::from_strings(&shape, &joined)?)
}

fn split(call: &mut Call<'_>) -> Outcome {
    let delimiter = call.text("delimiter", "")?;
    let most = call.attributes.int("maxsplit")?.and_then(|most| usize::try_from(most).ok());
    let x = call.tensor(0)?;
    // Each byte can be a part, which is a text of its own.
    check_size(&[x.bytes().len()], size_of::<String>())?;
    let parts_of = |text: &'_ str| -> Vec<String> {
        let own = |parts: Vec<&str>| parts.into_iter().map(str::to_owned).collect();
        match (delimiter, most) {
            ("", None) => own(text.split_whitespace().collect()),
            ("", Some(most)) => {
                let (mut parts, mut rest) = (Vec::new(), text.trim());
                while parts.len() < most
                    && let Some((first, tail)) = rest.split_once(char::is_whitespace)
                {
                    parts.push(first);
                    rest = tail.trim_start();
                }
                if !rest.is_empty() {
                    parts.push(rest);
                }
                own(parts)
            }
            (delimiter, None) => own(text.split(delimiter).collect()),
            (delimiter, Some(most)) => own(text.splitn(most.saturating_add(1), delimiter).collect()),
        }
    };
    let all: Vec<Vec<String>> = x.strings()?.map(parts_of).collect();
    let width = all.iter().map(Vec::len).max().unwrap_or(0);
    check_size(&[all.len(), width], size_of::<String>())?;
    let counts: Vec<i64> = all.iter().map(|parts| parts.len() as i64).collect();
    let padded = all.into_iter().flat_map(|mut parts| {
        parts.resize(width, String::new());
        parts
    });
    let shape = [x.shape(), &[width]].concat();
    let texts = AnyTensor::from_strings(&shape, &padded.collect::<Vec<_>>())?;
    Ok(vec![texts.into(), AnyTensor::from_slice(x.shape(), &counts)?.into()])
}

fn normalize(call: &mut Call<'_>) -> Outcome {
    let is_case_sensitive = call.flag("is_case_sensitive", false)?;
    let action = call.text("case_change_action", "NONE")?;
    let fold = |text: &str| if is_case_sensitive { text.to_owned() } else { text.to_lowercase() };
    let stops: HashSet<String> =
        call.attributes.texts("stopwords")?.unwrap_or_default().into_iter().map(fold).collect();
    let x = call.tensor(0)?;
    let is_row = match x.shape() {
        [_] => false,
        [1, _] => true,
        other => return invalid(format!("the shape {other:?} is neither [C] nor [1, C]")),
    };
    let kept = x.strings()?.filter(|text| !stops.contains(&fold(text)));
    let mut texts: Vec<String> = match action {
        "NONE" => kept.map(str::to_owned).collect(),
        "LOWER" => kept.map(str::to_lowercase).collect(),
        "UPPER" => kept.map(str::to_uppercase).collect(),
        other => return invalid(format!("`case_change_action` = `{other}` is not known")),
    };
    if texts.is_empty() {
        texts.push(String::new());
    }
    let shape = if is_row { vec![1, texts.len()] } else { vec![texts.len()] };
    one(AnyTensor::from_strings(&shape, &texts)?)
}

fn full_match(call: &mut Call<'_>) -> Outcome {
    let pattern = call.attributes.text("pattern")?.ok_or(KernelErrorKind::MissingAttribute("pattern"))?;
    let regex = match regex::Regex::new(&format!("^(?:{pattern})$")) {
        Ok(regex) => regex,
        Err(error) => return invalid(format!("the pattern `{pattern}` is invalid: {error}")),
    };
    let x = call.tensor(0)?;
    // The automaton takes time proportional to the text and to the pattern, at most.
    work::spend_each(&[x.bytes().len(), pattern.len().max(1)])?;
    let texts = x.strings()?;
    one(build::<bool>(x.shape(), |out| {
        out.iter_mut().zip(texts.clone()).for_each(|(out, text)| *out = regex.is_match(text));
    })?)
}

/// Counts the n-grams of a pool in each row.
fn tf_idf(call: &mut Call<'_>) -> Outcome {
    let need = |name: &'static str| call.attributes.int(name)?.ok_or(KernelErrorKind::MissingAttribute(name));
    let (least, most) = (need("min_gram_length")?, need("max_gram_length")?);
    let skips = need("max_skip_count")?;
    let starts =
        call.attributes.ints("ngram_counts")?.ok_or(KernelErrorKind::MissingAttribute("ngram_counts"))?;
    let targets =
        call.attributes.ints("ngram_indexes")?.ok_or(KernelErrorKind::MissingAttribute("ngram_indexes"))?;
    let weights = call.attributes.floats("weights")?;
    let mode = call.attributes.text("mode")?.ok_or(KernelErrorKind::MissingAttribute("mode"))?;
    if !matches!(mode, "TF" | "IDF" | "TFIDF") {
        return invalid(format!("`mode` = `{mode}` is not known"));
    }
    let x = call.tensor(0)?;
    let texts = call.attributes.texts("pool_strings")?;
    // Integer tokens are compared as text: only equality matters.
    let (pool, words): (Vec<String>, Vec<String>) = if x.dtype() == Dtype::String {
        let pool = texts.ok_or(KernelErrorKind::MissingAttribute("pool_strings"))?;
        (pool.into_iter().map(str::to_owned).collect(), x.strings()?.map(str::to_owned).collect())
    } else {
        let pool =
            call.attributes.ints("pool_int64s")?.ok_or(KernelErrorKind::MissingAttribute("pool_int64s"))?;
        let words = to_f64s(x)?.into_iter().map(|word| (word as i64).to_string());
        (pool.iter().map(i64::to_string).collect(), words.collect())
    };
    let width = targets.iter().copied().max().map_or(0, |most| most.saturating_add(1));
    let Ok(width) = usize::try_from(width) else { return invalid("an n-gram's index is negative") };
    let (rows, length) = match *x.shape() {
        [length] => (None, length),
        [rows, length] => (Some(rows), length),
        _ => return invalid(format!("the shape {:?} is neither [C] nor [N, C]", x.shape())),
    };
    check_size(&[rows.unwrap_or(1), width], size_of::<f32>())?;
    let mut counts = vec![0.0_f32; rows.unwrap_or(1) * width];
    // The n-grams of the pool, each with its length and its index.
    let mut number = 0;
    let mut grams: Vec<(usize, &[String], usize)> = Vec::new();
    for (at, start) in starts.iter().enumerate() {
        let size = at + 1;
        let (Ok(start), end) = (usize::try_from(*start), starts.get(at + 1)) else {
            return invalid("`ngram_counts` has a negative entry");
        };
        let end = end.and_then(|end| usize::try_from(*end).ok()).unwrap_or(pool.len());
        for gram in pool.get(start..end).unwrap_or_default().chunks_exact(size) {
            grams.push((size, gram, number));
            number += 1;
        }
    }
    if number > targets.len() || weights.is_some_and(|weights| weights.len() < number) {
        return invalid("`ngram_indexes` or `weights` has fewer entries than the pool has n-grams");
    }
    for row in 0..rows.unwrap_or(1) {
        let words = &words[row * length..(row + 1) * length];
        for (size, gram, number) in &grams {
            if !(least..=most).contains(&(*size as i64)) {
                continue;
            }
            // Unigrams have no skips.
            let strides =
                if *size == 1 { 1 } else { usize::try_from(skips.max(0)).unwrap_or(0).min(length) + 1 };
            let mut found = 0_u32;
            work::spend_each(&[strides, length, *size])?;
            for stride in 1..=strides {
                for first in 0..length {
                    let places = (0..*size).map(|step| words.get(first + step * stride));
                    found += u32::from(places.zip(gram.iter()).all(|(word, want)| word == Some(want)));
                }
            }
            let Ok(target) = usize::try_from(targets[*number]) else {
                return invalid("an index is negative");
            };
            let weight = weights.map_or(1.0, |weights| weights[*number]);
            counts[row * width + target] += match mode {
                "TF" => found as f32,
                "IDF" if found > 0 => weight,
                "IDF" => 0.0,
                _ => found as f32 * weight,
            };
        }
    }
    let shape: Vec<usize> = rows.into_iter().chain([width]).collect();
    one(AnyTensor::from_slice(&shape, &counts)?)
}
