//! Whole models with random weights and inputs: an engine reproduces the results of the embedded backend.
//! Included in the tests of each engine.
//!
//! An unoptimised build of the embedded backend needs minutes for the light networks, so debug builds use
//! small images where a network accepts them.

use std::sync::Arc;
use std::time::Duration;

use typeloom::ModelProto;
use typeloom_onnx::prost::Message as _;
use typeloom_runtime::engine::Engine;
use typeloom_runtime::engine::session::EngineSession;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_solver::model::Options;

use crate::whole;
use crate::worker::{Verdict, Worker};

/// First word of the jobs; the rest is the name of a model.
pub(crate) const JOB: &str = "model";

/// Time limit for generating, checking and preparing a model and running it twice.
const LIMIT: Duration = Duration::from_secs(600);

/// Verdict of a worker on a model.
pub(crate) fn answer(engine: &Arc<dyn Engine>, name: &str) -> Verdict {
    let Some(whole) = whole::list().into_iter().find(|whole| whole.name == name) else {
        return Verdict::Wrong("there is no such model".to_owned());
    };
    let is_slow = cfg!(debug_assertions) && whole.is_light;
    let model = if is_slow { whole.small() } else { Some(whole.model()) };
    let Some(model) = model else {
        return Verdict::Unasked("it is run with optimisation only".to_owned());
    };
    judge(engine, &model).unwrap_or_else(Verdict::Wrong)
}

fn judge(engine: &Arc<dyn Engine>, model: &ModelProto) -> Result<Verdict, String> {
    let bytes = model.encode_to_vec();
    let mut checked =
        typeloom_ops::check::check(&bytes, &Options::default()).map_err(|error| error.to_string())?;
    let no_files = |_: &_| Err("no other files are read".to_owned());
    let session = Session::of_checked(&mut checked, &no_files).map_err(|error| error.to_string())?;
    let inputs = whole::inputs(session.inputs());
    let expected = session.run(inputs.clone(), Verify::Inputs).map_err(|error| error.to_string())?;
    drop(session);
    let ran = EngineSession::of_checked(Arc::clone(engine), &mut checked, &no_files, Verify::Inputs)
        .map_err(|error| error.to_string())
        .and_then(|session| session.run(inputs).map_err(|error| error.to_string()));
    match ran {
        Err(error) => Ok(Verdict::Refused(error)),
        Ok(found) => {
            Ok(whole::difference(&found.outputs, &expected.outputs).map_or(Verdict::Same, Verdict::Wrong))
        }
    }
}

/// Runs all models and prints each verdict.
///
/// # Errors
/// If the engine's results differ from those of the embedded backend, or no model is compared.
pub(crate) fn run(engine: &str, worker: &mut Worker) -> Result<(), String> {
    let (mut same, mut wrong) = (0_usize, Vec::new());
    for whole in whole::list() {
        let said = match worker.ask(&format!("{JOB} {}", whole.name), LIMIT) {
            Verdict::Same => {
                same += 1;
                "the same".to_owned()
            }
            Verdict::Refused(why) => format!("refused: {why}"),
            Verdict::Unasked(why) => format!("not asked: {why}"),
            Verdict::Wrong(why) | Verdict::Lost(why) => {
                wrong.push(whole.name.clone());
                format!("WRONG: {why}")
            }
        };
        println!("{:<24} {said}", whole.name);
    }
    println!("\n{engine}: {same} models the same, {} different", wrong.len());
    match (wrong.is_empty(), same) {
        (false, _) => Err(format!("they differ on {wrong:?}")),
        (true, 0) => Err("no model was compared".to_owned()),
        (true, _) => Ok(()),
    }
}
