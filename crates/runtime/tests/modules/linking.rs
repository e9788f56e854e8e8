//! Linking: components that differ from those of the compilation, and calls between programs.

use typeloom_compiler::artifact::Artifact;
use typeloom_compiler::compiler::Compiler;
use typeloom_contracts::backend::GraphExecutor;
use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::graph::operators::attributes::SoftmaxAttrs;
use typeloom_module::module::Module;
use typeloom_module::module::imports::Imported;
use typeloom_onnx::messages::{AttributeProto, GraphProto};
use typeloom_runtime::backend::Cpu;
use typeloom_runtime::components::Components;
use typeloom_runtime::error::{LinkError, PrepareError};
use typeloom_runtime::executor::Executor;
use typeloom_tensor::any_tensor::AnyTensor;

use crate::modules::support::{Body, Outcome, TestError, compile, floats, run};

struct Engine<T>(std::marker::PhantomData<fn() -> T>);

impl<T: Clone + Send + Sync + 'static> GraphExecutor for Engine<T>
where
    Vec<T>: typeloom_types::storage::Storage,
{
    type Tensor = Vec<T>;
    type Error = TestError;

    fn execute(
        &self,
        _: &GraphProto,
        inputs: Vec<Vec<T>>,
        _: &[AttributeProto],
    ) -> Result<Vec<Vec<T>>, TestError> {
        Ok(inputs)
    }
}

fn negated(g: &mut Graph) {
    g.output("y", &g.backend("compute").neg(&g.input("x")));
}

#[test]
fn a_slot_without_a_component_or_with_another_one_is_refused() -> Outcome {
    let floats = Components::new().backend("compute", ByExecution(Engine::<f32>(std::marker::PhantomData)));
    let doubles = Components::new().backend("compute", ByExecution(Engine::<f64>(std::marker::PhantomData)));
    let artifact = compile(&floats, negated)?;
    assert!(Executor::new(&artifact, &floats).is_ok());
    let missing = Executor::new(&artifact, &Components::new()).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "slot `compute` requires Backend, but no component is bound to it; it runs `Neg`, which makes `y`"
    );
    let other = Executor::new(&artifact, &doubles).unwrap_err();
    assert!(matches!(other, PrepareError::Link(LinkError::Component(_))), "{other}");
    assert!(other.to_string().contains("tensor.f64"), "{other}");
    let twice = floats.clone().backend("compute", Cpu);
    assert!(matches!(
        Executor::new(&artifact, &twice),
        Err(PrepareError::Link(LinkError::BoundTwice { .. }))
    ));
    Ok(())
}

#[test]
fn a_program_that_was_saved_and_loaded_runs_the_same() -> Outcome {
    let components = Components::new().backend("compute", Cpu);
    let compiled = compile(&components, |g| {
        let x = g.input("x").of("float[N]");
        g.output("y", &g.backend("compute").softmax(&x, SoftmaxAttrs::default()));
    })?;
    let loaded = Artifact::load(&compiled.to_bytes()?, components.bindings())?;
    let x = || [("x", floats(&[2], &[0.0, 0.0]))];
    for artifact in [&compiled, &loaded] {
        let outcome = run(&Executor::new(artifact, &components)?, x())?;
        assert_eq!(outcome.get("y"), Some(&floats(&[2], &[0.5, 0.5])));
    }
    Ok(())
}

struct Caller(Imported);

impl Module for Caller {
    fn name(&self) -> &str {
        "caller"
    }

    fn body(&self, g: &mut Graph) {
        let x = g.input("x").of("float[batch, 2]");
        let called = g.call_import(&self.0, "scorer", &[&x, &g.input("w")]);
        g.output("y", &called[0]);
    }
}

#[test]
fn a_linked_program_implements_a_function_of_another_module() -> Outcome {
    let components = Components::new().backend("compute", Cpu);
    let scorer = Body("scorer", |g| {
        let (query, weights) = (g.input("query").of("float[N, 2]"), g.input("weights").of("float[2, M]"));
        g.output("scores", &g.backend("compute").matmul(&query, &weights));
    });
    let scorer = components.compiler().compile(scorer)?;
    let caller = Compiler::new().compile(Caller(Imported::new(&scorer.interface)?))?;
    let unlinked = Executor::new(&caller, &Components::new()).unwrap_err();
    assert!(unlinked.to_string().contains("calls `scorer` of another module"), "{unlinked}");
    let linked = Components::new().function("scorer", Executor::new(&scorer, &components)?);
    let executor = Executor::new(&caller, &linked)?;
    let w = floats(&[2, 1], &[1.0, 10.0]);
    let outcome = run(&executor, [("x", floats(&[1, 2], &[3.0, 4.0])), ("w", w)])?;
    assert_eq!(outcome.get("y"), Some(&floats(&[1, 1], &[43.0])));
    Ok(())
}

#[test]
fn a_public_function_runs_as_a_program_and_is_linked_into_another_one() -> Outcome {
    let components = Components::new().backend("compute", Cpu);
    let library = compile(&components, |g| {
        let x = g.input("x").of("float[N]");
        g.output("y", g.backend("compute").neg(&x));
        g.export(&Body("scorer", |g| {
            let (query, weights) = (g.input("query").of("float[N, 2]"), g.input("weights").of("float[2, M]"));
            g.output("scores", g.backend("compute").matmul(&query, &weights));
        }));
    })?;
    let library = Artifact::load(&library.to_bytes()?, components.bindings())?;
    let caller = Compiler::new().compile(Caller(Imported::new(&library.interface)?))?;
    let linked =
        Components::new().function("scorer", Executor::new(&library.functions["scorer"], &components)?);
    let w = floats(&[2, 1], &[1.0, 10.0]);
    let outcome = run(&Executor::new(&caller, &linked)?, [("x", floats(&[1, 2], &[3.0, 4.0])), ("w", w)])?;
    assert_eq!(outcome.get("y"), Some(&floats(&[1, 1], &[43.0])));
    let main = run(&Executor::new(&library, &components)?, [("x", floats(&[1], &[2.0]))])?;
    assert_eq!(main.get("y"), Some(&floats(&[1], &[-2.0])));
    Ok(())
}

#[test]
fn inputs_are_checked_against_their_types() -> Outcome {
    let components = Components::new().backend("compute", Cpu);
    let artifact = compile(&components, |g| {
        let (x, y) = (g.input("x").of("float[N]"), g.input("y").of("float[N]"));
        g.output("sum", &g.backend("compute").add(&x, &y));
    })?;
    let executor = Executor::new(&artifact, &components)?;
    let two = || floats(&[2], &[0.0; 2]);
    let text = |inputs: Vec<(&'static str, typeloom_tensor::datum::Datum)>| {
        run(&executor, inputs).err().map_or_else(String::new, |error| error.to_string())
    };
    assert_eq!(text(vec![("x", two())]), "input `y` is missing");
    assert_eq!(
        text(vec![("x", two()), ("y", two()), ("z", two())]),
        "the program has no input `z`; it has `x` and `y`; did you mean `x` or `y`?"
    );
    let mismatch = text(vec![("x", two()), ("y", floats(&[3], &[0.0; 3]))]);
    assert_eq!(mismatch, "input `y`: float[3] is not float[N], where N = 2");
    let odd: typeloom_tensor::datum::Datum = AnyTensor::from([1_i64, 2]).into();
    assert!(text(vec![("x", odd), ("y", two())]).contains("int64[2] is not float[N]"));
    let peer = typeloom_tensor::datum::Datum::Trigger;
    assert_eq!(text(vec![("x", peer), ("y", two())]), "input `x`: trigger is not float[N]");
    Ok(())
}
