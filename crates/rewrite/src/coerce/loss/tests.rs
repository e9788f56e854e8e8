use super::*;

fn effect(number: Number, to: Elem) -> (String, Option<LossKind>) {
    let (result, kind) = converted(number, to).expect("the type is a number format");
    (result.text(to), kind)
}

#[test]
fn integers_wrap_or_keep_their_value() {
    let cases = [
        (-1, Elem::UINT8, "255", Some(LossKind::Wrapped)),
        (300, Elem::UINT8, "44", Some(LossKind::Wrapped)),
        (128, Elem::INT8, "-128", Some(LossKind::Wrapped)),
        (-1, Elem::UINT64, "18446744073709551615", Some(LossKind::Wrapped)),
        (127, Elem::INT8, "127", None),
        (7, Elem::INT4, "7", None),
        (8, Elem::INT4, "-8", Some(LossKind::Wrapped)),
        (2, Elem::BOOL, "true", Some(LossKind::Rounded)),
        (1, Elem::BOOL, "true", None),
    ];
    for (from, to, text, kind) in cases {
        assert_eq!(effect(Number::Int(from), to), (text.to_owned(), kind), "{from} as {to:?}");
    }
}

#[test]
fn integers_round_to_floats_once() {
    let cases = [
        (16_777_217, Elem::FLOAT, "16777216", Some(LossKind::Rounded)),
        (16_777_219, Elem::FLOAT, "16777220", Some(LossKind::Rounded)),
        (70_000, Elem::FLOAT16, "inf", Some(LossKind::Overflowed)),
        (2049, Elem::FLOAT16, "2048", Some(LossKind::Rounded)),
        (i128::from(i64::MAX), Elem::DOUBLE, "9.223372036854776e18", Some(LossKind::Rounded)),
        // With two roundings, through double, the result is the other neighbour.
        (9_007_199_791_611_905, Elem::FLOAT, "9007200000000000", Some(LossKind::Rounded)),
        (3, Elem::BFLOAT16, "3", None),
    ];
    for (from, to, text, kind) in cases {
        assert_eq!(effect(Number::Int(from), to), (text.to_owned(), kind), "{from} as {to:?}");
    }
}

#[test]
fn floats_round_overflow_vanish_and_wrap() {
    let cases = [
        (-3.402_823_5e38, Elem::FLOAT16, "-inf", Some(LossKind::Overflowed)),
        (1e-12, Elem::FLOAT16, "0", Some(LossKind::Vanished)),
        (65_504.0, Elem::FLOAT16, "65504", None),
        (65_519.0, Elem::FLOAT16, "65504", Some(LossKind::Rounded)),
        (65_520.0, Elem::FLOAT16, "inf", Some(LossKind::Overflowed)),
        (500.0, Elem::FLOAT8E4M3FN, "448", Some(LossKind::Overflowed)),
        (0.1, Elem::FLOAT16, "0.099975586", Some(LossKind::Rounded)),
        (0.5, Elem::INT64, "0", Some(LossKind::Vanished)),
        (-2.5, Elem::INT8, "-2", Some(LossKind::Rounded)),
        (300.0, Elem::UINT8, "44", Some(LossKind::Wrapped)),
        (3.0, Elem::INT64, "3", None),
        (f64::NEG_INFINITY, Elem::FLOAT16, "-inf", None),
        (f64::NAN, Elem::INT64, "0", Some(LossKind::Wrapped)),
    ];
    for (from, to, text, kind) in cases {
        assert_eq!(effect(Number::Float(from), to), (text.to_owned(), kind), "{from} as {to:?}");
    }
}

#[test]
fn a_type_that_keeps_all_values_changes_none() {
    let integers = [-129, -1, 0, 1, 2, 100, 255, 65_535, i128::from(i64::MIN)];
    let all = || (1..=Elem::LAST_ONNX).filter_map(Elem::new);
    for (from, to) in all().flat_map(|from| all().map(move |to| (from, to))) {
        // This float has no zero, into which the integers below would be converted.
        let is_number = number_format(from).is_some() && from != Elem::FLOAT8E8M0;
        if !is_number || from == to || !keeps_values(from, to) {
            continue;
        }
        for value in integers {
            let (element, _) = converted(Number::Int(value), from).expect("a number format");
            assert_eq!(effect(element, to).1, None, "{value}: {from:?} as {to:?}");
        }
    }
}
