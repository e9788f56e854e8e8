//! Public functions of a program.
//!
//! The main function of a program is public. A module that it calls is a *private* function: it becomes a
//! part of its caller, and neither its name nor its types are exported. A module that is exported is a public
//! function: it is compiled as a program of its own, with slots bound by the same compiler, and other
//! programs can import it next to the main function. A program can call a module that it also exports.

use super::Module;
use crate::authoring::AuthoringErrorKind;
use crate::graph::Graph;
use crate::location::SourceLocation;

impl Graph {
    /// Exports a module as a public function of the program. The exports of an exported module are exported
    /// too; those of a module that is only called are not.
    #[track_caller]
    pub fn export(&self, module: &dyn Module) {
        let location = SourceLocation::here();
        let name = module.name().to_owned();
        let Some(callers) = self.callers_of(&name, location) else { return };
        let mut graph = Graph::new(name.clone(), callers);
        module.body(&mut graph);
        let mut recorded = match graph.finish(location) {
            Ok(recorded) => recorded,
            Err(errors) => return self.recorder.borrow_mut().errors.extend(errors),
        };
        let mut recorder = self.recorder.borrow_mut();
        let nested = std::mem::take(&mut recorded.exports);
        for function in nested.into_iter().chain([recorded]) {
            let name = function.program.name().to_owned();
            match recorder.exports.get(&name) {
                Some((known, first)) if known.model() != function.model() => {
                    let first = *first;
                    recorder.error(AuthoringErrorKind::ModuleNameTaken { module: name, first }, location);
                }
                Some(_) => {}
                None => {
                    recorder.exports.insert(name, (function, location));
                }
            }
        }
    }

    /// The callers of a module that this graph uses; an error if it is one of them.
    pub(super) fn callers_of(&self, module: &str, location: SourceLocation) -> Option<Vec<String>> {
        let mut recorder = self.recorder.borrow_mut();
        let mut callers = recorder.callers.clone();
        callers.push(recorder.module.clone());
        if callers.iter().any(|caller| caller == module) {
            recorder.error(AuthoringErrorKind::RecursiveModule { module: module.to_owned() }, location);
            return None;
        }
        Some(callers)
    }
}
