//! Checks of values against types.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::{Datum, Scalar};
use typeloom_tensor::value_check::{SymbolBindings, is_in_declared_form, to_declared_form, with_symbols};
use typeloom_tensor::value_type::{Dim, Element, ValueType};
use typeloom_types::dtype::Dtype;
use typeloom_types::tree::builtin::{TYPE_SCALAR_F32, TYPE_SCALAR_I32, TYPE_TENSOR, TYPE_TRIGGER};

fn zeros(shape: &[usize]) -> Datum {
    Datum::Tensor(AnyTensor::zeros(Dtype::F32, shape).unwrap())
}

fn floats(dims: &[&str]) -> ValueType {
    ValueType::tensor(Dtype::F32, dims.iter().map(|dim| Dim::parse(dim)))
}

/// The message of the error, if the value is not of the type.
fn mismatch(symbols: &mut SymbolBindings, value: &Datum, ty: &ValueType) -> Option<String> {
    symbols.check(value, ty).err().map(|error| error.to_string())
}

#[test]
fn a_symbol_keeps_the_extent_of_the_first_value() {
    let mut symbols = SymbolBindings::default();
    // The expression is before the symbol that determines it.
    assert_eq!(mismatch(&mut symbols, &zeros(&[5, 2]), &floats(&["2*N + 1", "N"])), None);
    assert_eq!(symbols.evaluate(&Dim::parse("N + 1")), Some(3));
    assert_eq!(
        mismatch(&mut symbols, &zeros(&[3]), &floats(&["N"])).as_deref(),
        Some("float[3] is not float[N], where N = 2")
    );
    let fixed = Dim::parse("N + M");
    assert_eq!(symbols.unbound(&fixed).collect::<Vec<_>>(), ["M"]);
    assert_eq!(symbols.extents(&floats(&["N", "M", "4"])), Some(vec![Some(2), None, Some(4)]));
}

#[test]
fn many_symbols_are_found_and_listed_by_name() {
    let mut symbols = SymbolBindings::default();
    let names: Vec<String> = (0..200).map(|at| format!("s{:03}", (at * 77) % 200)).collect();
    for (at, name) in names.iter().enumerate() {
        symbols.bind(name, at);
        symbols.bind(name, at + 1);
    }
    let copy = symbols.clone();
    symbols.bind("t", 7);
    assert!(names.iter().enumerate().all(|(at, name)| copy.get(name) == Some(at)));
    assert_eq!((copy.get("t"), symbols.get("t")), (None, Some(7)));
    assert!(symbols.iter().map(|(name, _)| name).is_sorted());
    assert_eq!(symbols.iter().count(), 201);
}

#[test]
fn containers_check_their_contents() {
    let inner = floats(&["N"]);
    let of = |element| ValueType { node: None, element, shape: None };
    let sequence = of(Element::Sequence(inner.clone().into()));
    let optional = of(Element::Optional(inner.into()));
    let mut symbols = SymbolBindings::default();
    // Each element of a sequence has its own extents.
    let values = Datum::Sequence(vec![zeros(&[1]), zeros(&[2])]);
    assert_eq!(mismatch(&mut symbols, &values, &sequence), None);
    assert_eq!(symbols.get("N"), None);
    for value in [Datum::Optional(None), Datum::Optional(Some(zeros(&[4]).into())), zeros(&[4])] {
        assert_eq!(mismatch(&mut symbols, &value, &optional), None);
    }
    assert_eq!(symbols.get("N"), Some(4));
    assert!(mismatch(&mut symbols, &zeros(&[5]), &optional).is_some());
    assert_eq!(mismatch(&mut symbols, &zeros(&[9]), &ValueType::of_node(&TYPE_TENSOR)), None);
    assert!(mismatch(&mut symbols, &Datum::Trigger, &ValueType::of_node(&TYPE_TENSOR)).is_some());
    assert_eq!(mismatch(&mut symbols, &Datum::Trigger, &ValueType::of_node(&TYPE_TRIGGER)), None);
}

#[test]
fn a_tensor_of_rank_0_becomes_the_scalar_that_its_type_declares() {
    let ty =
        ValueType::composite([("s", ValueType::of_node(&TYPE_SCALAR_F32)), ("x", floats(&["N"]))], false);
    let scalar = Datum::Tensor(AnyTensor::from_slice(&[], &[1.5_f32]).unwrap());
    let value = Datum::Composite(vec![("x".into(), zeros(&[3])), ("s".into(), scalar.clone())]);
    let mut symbols = SymbolBindings::default();
    assert_eq!(mismatch(&mut symbols, &value, &ty), None);
    assert_eq!(symbols.get("N"), Some(3));
    assert!(!is_in_declared_form(&value, &ty));
    let value = to_declared_form(value, &ty);
    assert!(is_in_declared_form(&value, &ty));
    let Datum::Composite(children) = &value else { panic!("{value:?}") };
    assert_eq!(children[1], ("s".to_owned(), Datum::Scalar(Scalar::F32(1.5))));
    // Another element type is not converted.
    let int = ValueType::of_node(&TYPE_SCALAR_I32);
    assert_eq!(to_declared_form(scalar.clone(), &int), scalar);
    assert!(mismatch(&mut symbols, &scalar, &int).is_some());
    let missing = Datum::Composite(vec![("x".into(), zeros(&[3]))]);
    assert!(mismatch(&mut symbols, &missing, &ty).is_some());
    assert_eq!(with_symbols(&ty).unwrap().to_string(), "composite{x: float[N], ..}");
    assert_eq!(with_symbols(&int), None);
}
