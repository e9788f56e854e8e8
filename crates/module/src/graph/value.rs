//! Handles of values in a recording.

use std::cell::RefCell;
use std::fmt;
use std::ops;
use std::rc::Rc;
use std::sync::Arc;

use typeloom_program::program::{GraphId, ValueId};

use super::recorder::Recorder;
use super::{Graph, IntoType};
use crate::authoring::AuthoringErrorKind;
use crate::location::SourceLocation;

/// A handle of a value in a recording. Operators are its methods.
#[derive(Clone)]
pub struct ValueRef {
    pub(crate) recorder: Rc<RefCell<Recorder>>,
    /// The graph in which the handle was made.
    pub(crate) scope: GraphId,
    /// The value and its name. `None` for a poisoned value: the result of an operation with an error.
    pub(crate) value: Option<(ValueId, Arc<str>)>,
    pub(crate) made: SourceLocation,
}

impl ValueRef {
    /// Declares the type of the value: in ONNX's syntax (`float[batch, 3]`), by the id of a type node, or by
    /// the node. Most types are inferred.
    #[track_caller]
    #[must_use = "the declared value is the same one"]
    pub fn of(self, ty: impl IntoType) -> Self {
        let location = SourceLocation::here();
        let Some(value) = usable(&self.recorder, &self, location) else { return self };
        let mut recorder = self.recorder.borrow_mut();
        match ty.into_type() {
            Ok(ty) => recorder.declare(value, ty.into(), location),
            Err((text, message)) => recorder.error(AuthoringErrorKind::BadType { text, message }, location),
        }
        drop(recorder);
        self
    }

    /// The name of the value in the graph; `None` for a poisoned value, the result of an operation with an
    /// error.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.value.as_ref().map(|(_, name)| &**name)
    }

    /// A handle of the recording that the value belongs to.
    pub(crate) fn graph(&self) -> Graph {
        Graph { recorder: Rc::clone(&self.recorder) }
    }
}

/// Returns a value that can be used in the innermost open graph of a recorder. Returns `None` for
/// a poisoned value. Records an error and returns `None` for a value of another recorder or a closed graph.
pub(crate) fn usable(
    recorder: &Rc<RefCell<Recorder>>,
    value: &ValueRef,
    location: SourceLocation,
) -> Option<ValueId> {
    let (id, name) = value.value.as_ref()?;
    let own = Rc::ptr_eq(recorder, &value.recorder) && recorder.borrow().is_open(value.scope);
    if !own {
        let kind = AuthoringErrorKind::ForeignValue { value: name.to_string(), made: value.made };
        recorder.borrow_mut().error(kind, location);
        return None;
    }
    Some(*id)
}

impl fmt::Debug for ValueRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { recorder: _, scope, value, made } = self;
        f.debug_struct("ValueRef").field("value", value).field("scope", scope).field("made", made).finish()
    }
}

macro_rules! binary {
    ($($trait:ident $method:ident;)*) => {
        $(
            impl ops::$trait<&ValueRef> for &ValueRef {
                type Output = ValueRef;

                #[track_caller]
                fn $method(self, other: &ValueRef) -> ValueRef {
                    ValueRef::$method(self, other)
                }
            }

            impl ops::$trait<&ValueRef> for ValueRef {
                type Output = ValueRef;

                #[track_caller]
                fn $method(self, other: &ValueRef) -> ValueRef {
                    ValueRef::$method(&self, other)
                }
            }

            impl ops::$trait for ValueRef {
                type Output = ValueRef;

                #[track_caller]
                fn $method(self, other: ValueRef) -> ValueRef {
                    ValueRef::$method(&self, &other)
                }
            }
        )*
    };
}

binary! { Add add; Sub sub; Mul mul; Div div; }

impl ops::Neg for &ValueRef {
    type Output = ValueRef;

    #[track_caller]
    fn neg(self) -> ValueRef {
        ValueRef::neg(self)
    }
}
