//! A contract that was written from an interface has no difference to the projection of the interface.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use typeloom_interface::{Interface, PortIdentity, compare};
use typeloom_pool::compat::Direction;
use typeloom_serving::signature::{Extent, Port, Signature};
use typeloom_serving::{Contract, Format, Options, write};
use typeloom_types::dtype::Dtype;

const READ: [Format; 3] = [Format::Triton, Format::Oip, Format::Mlflow];

fn extent() -> impl Strategy<Value = Extent> {
    prop_oneof![
        (0_u64..4).prop_map(Extent::Fixed),
        prop_oneof![Just("N"), Just("M"), Just("batch \"size\"")]
            .prop_map(|it| Extent::Symbol(it.to_owned())),
        Just(Extent::Free),
    ]
}

fn port(at: usize, side: &'static str) -> impl Strategy<Value = Port> {
    let name = prop_oneof![Just(String::new()), ".{0,6}"];
    let shape = prop_oneof![
        9 => proptest::collection::vec(extent(), 0..4).prop_map(Some),
        1 => Just(None),
    ];
    (name, proptest::sample::select(Dtype::ALL.to_vec()), shape, any::<bool>()).prop_map(
        move |(name, element, shape, optional)| Port {
            name: format!("{name}{at}"),
            element,
            shape,
            optional: optional && side == "input",
        },
    )
}

fn ports(side: &'static str) -> impl Strategy<Value = Vec<Port>> {
    (0_usize..4).prop_flat_map(move |count| (0..count).map(|at| port(at, side).boxed()).collect::<Vec<_>>())
}

fn interfaces() -> impl Strategy<Value = Interface> {
    (ports("input"), ports("output"))
        .prop_map(|(inputs, outputs)| Signature { inputs, outputs, conditions: Vec::new() }.to_interface())
}

fn runner(cases: u32) -> TestRunner {
    let seed = [7; 32];
    TestRunner::new_with_rng(Config::with_cases(cases), TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

fn differences(contract: &Contract, model: &Interface) -> String {
    let part = contract.project(model).interface;
    let old_to_new = compare(&contract.interface(), &part, Direction::Full, PortIdentity::NameAndPosition);
    let new_to_old = compare(&part, &contract.interface(), Direction::Full, PortIdentity::NameAndPosition);
    format!("{old_to_new}{new_to_old}")
}

#[test]
fn projections_on_own_contracts_have_no_differences() {
    let written = READ.map(|_| Cell::new(0));
    let checked = runner(3_000).run(&interfaces(), |interface| {
        for (at, format) in READ.into_iter().enumerate() {
            let Ok(text) = write(format, &interface, &Options::named("m\n\"")) else { continue };
            let contract = Contract::read_as(format, text.as_bytes());
            if interface.inputs.is_empty() && interface.outputs.is_empty() {
                prop_assert!(contract.is_err());
                continue;
            }
            let contract = contract.map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(Contract::format_of(text.as_bytes(), None), Some(format));
            prop_assert_eq!(differences(&contract, &interface), "");
            written[at].set(written[at].get() + 1);
        }
        Ok(())
    });
    checked.expect("no contract differs");
    assert!(written.iter().all(|count| count.get() > 200), "too few contracts: {written:?}");
}

#[test]
fn changed_types_are_differences_of_the_contract() {
    let changed = Cell::new(0);
    let checked = runner(2_000).run(&(interfaces(), any::<prop::sample::Index>()), |(interface, at)| {
        let signature = Signature::of(&interface).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let Ok(text) = write(Format::Triton, &interface, &Options::named("m")) else { return Ok(()) };
        let count = signature.ports().count();
        if count == 0 {
            return Ok(());
        }
        let mut other = signature.clone();
        let at = at.index(count);
        let list = other.inputs.iter_mut().chain(&mut other.outputs);
        if let Some(port) = list.into_iter().nth(at) {
            port.element = if port.element == Dtype::F32 { Dtype::I64 } else { Dtype::F32 };
        }
        let contract =
            Contract::read(text.as_bytes(), None).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(differences(&contract, &other.to_interface()).contains("element-type-changed"));
        changed.set(changed.get() + 1);
        Ok(())
    });
    checked.expect("every change is found");
    assert!(changed.get() > 200, "too few changes: {}", changed.get());
}

#[test]
fn all_formats_have_a_text_or_an_error_for_every_interface() {
    let checked = runner(600).run(&interfaces(), |interface| {
        for format in Format::ALL {
            let options = Options::named("a*/\"\n");
            if let Ok(text) = write(format, &interface, &options) {
                prop_assert!(text.ends_with('\n'));
                let again = write(format, &interface, &options);
                prop_assert_eq!(Ok(&text), again.as_ref());
                let is_unsafe = |c: char| c != '\n' && typeloom_onnx::text::is_unsafe(c);
                prop_assert!(!text.contains(is_unsafe), "{}", text);
            }
        }
        Ok(())
    });
    checked.expect("no format panics");
}
