//! Runs the module examples as tests. Each example asserts its own results.

#[path = "../examples/backend_slots.rs"]
mod backend_slots;
#[path = "../examples/federated.rs"]
mod federated;
#[path = "../examples/index_over_backend.rs"]
mod index_over_backend;
#[path = "../examples/permissive_types.rs"]
mod permissive_types;
#[path = "../examples/receive_cast.rs"]
mod receive_cast;
#[path = "../examples/requests.rs"]
mod requests;

use typeloom_testing::is_all;

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[test]
fn one_module_takes_the_type_of_three_backends() -> Outcome {
    backend_slots::main()?;
    let expected = [
        "compute stores [f32]: query tensor.f32, weights tensor.f32, scores tensor.f32",
        "compute stores [f64]: query tensor.f64, weights tensor.f64, scores tensor.f64",
        "compute stores [Posit16]: query tensor.posit16, weights tensor.posit16, scores tensor.posit16",
        "on Posit16, 1/2 * 2 + 1 * 3 is Some([Posit16(32)]) eighths",
        "nothing is bound to slot `compute`, which requires Backend",
    ];
    assert_eq!(backend_slots::walk()?, expected);
    Ok(())
}

#[test]
fn an_index_over_any_tensor_takes_every_element_type_and_computes_on_its_backend() -> Outcome {
    index_over_backend::main()?;
    let expected = [
        "query float[8]: scale tensor.f32, ids tensor.u64, distances tensor.f32",
        "query double[8]: scale tensor.f64, ids tensor.u64, distances tensor.f32",
        "ids: u64[2] [1, 3]",
        "distances: f32[2] [0.0, 1.0]",
        "the slot's backend ran 1 graph, the index's 15",
    ];
    assert_eq!(index_over_backend::walk()?, expected);
    Ok(())
}

#[test]
fn a_received_value_is_cast_on_the_side_that_receives() -> Outcome {
    receive_cast::main()?;
    let lines = receive_cast::walk()?;
    assert!(lines[0].starts_with("strict: error[declared-type-contradiction]"), "{lines:#?}");
    assert!(lines[1].contains("from tensor.f32 to tensor.f64 (lossless)"), "{lines:#?}");
    let expected = [
        "on self: Send",
        "on workers: Recv, Cast, Add",
        "the worker received x from home and returned f64[2] [0.5, 3.0]",
    ];
    assert_eq!(lines[2..], expected);
    Ok(())
}

#[test]
fn permissive_mode_leaves_types_open_that_strict_mode_refuses() -> Outcome {
    permissive_types::main()?;
    let expected = [
        "strict: nothing is bound to slot `compute`, which requires Backend",
        "permissive: x is open",
        "permissive: a is open",
        "permissive: y is tensor.f32",
        "permissive: b is tensor.f32",
    ];
    assert_eq!(permissive_types::walk()?, expected);
    Ok(())
}

#[test]
fn peers_learn_from_distributed_samples_and_reproducibly() -> Outcome {
    // It trains once more, to print the results.
    if is_all() {
        federated::main()?;
    }
    let learned = federated::walk()?;
    assert_eq!(learned.types[0], "averaged: tensor.f32");
    let every_tenth: Vec<f32> = learned.history.iter().step_by(10).map(|(loss, _)| *loss).collect();
    assert!(every_tenth.windows(2).all(|pair| pair[1] < pair[0]), "the loss does not fall: {every_tenth:?}");
    let (loss, right) = learned.history.last().ok_or("there are rounds")?;
    assert!(
        *loss < 0.1 && *right * 100 >= learned.samples * 95,
        "loss {loss}, {right} of {}",
        learned.samples
    );
    // Messages arrive in any order, and results do not depend on it.
    assert_eq!(federated::walk()?.history, learned.history);
    Ok(())
}

#[test]
fn a_request_finds_its_peer_by_address_and_is_answered() -> Outcome {
    requests::main()?;
    let expected = [
        "without an address: `Send`, which makes `near.sent`: peer `server` cannot be sent to: no address of the peer is known",
        "the id of the request: Request(WireReqId(1))",
        "it is that of the output: true",
        "the server received: f32[2] [-48.2, -16.4]",
        "the server learned: /memory/1",
        "server answers: /dns/vienna.example.org/tcp/443",
    ];
    assert_eq!(requests::walk()?, expected);
    Ok(())
}
