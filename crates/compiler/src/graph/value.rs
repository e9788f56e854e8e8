//! Values of a graph that is being recorded.

use std::cell::RefCell;
use std::fmt;
use std::ops;
use std::rc::Rc;

use super::recorder::{Recorder, ScopeId};
use super::{Graph, IntoType};
use crate::authoring::AuthoringErrorKind;
use crate::place::Place;

/// A value of a graph that is being recorded. Operators are methods on it.
#[derive(Clone)]
pub struct Value {
    pub(crate) recorder: Rc<RefCell<Recorder>>,
    pub(crate) scope: ScopeId,
    /// Nothing for what a mistake gives.
    pub(crate) name: Option<Rc<str>>,
    pub(crate) made: Place,
}

impl Value {
    /// Declares the type of the value: ONNX's syntax (`float[batch, 3]`), the id of a node of the type tree or
    /// the node itself. Most values need none.
    #[track_caller]
    #[must_use = "the declared value is the same one"]
    pub fn of(self, ty: impl IntoType) -> Self {
        let place = Place::here();
        let Some(name) = usable(&self.recorder, &self, place) else { return self };
        let mut recorder = self.recorder.borrow_mut();
        match ty.into_type() {
            Ok(ty) => recorder.declare(&name, ty, place),
            Err((text, message)) => recorder.error(AuthoringErrorKind::BadType { text, message }, place),
        }
        drop(recorder);
        self
    }

    /// The value's name in the graph; nothing for what a mistake gave.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The graph that the value belongs to.
    pub(crate) fn graph(&self) -> Graph {
        Graph { recorder: Rc::clone(&self.recorder) }
    }
}

/// The name of a value that can be used in the innermost open graph of a recorder.
pub(crate) fn usable(recorder: &Rc<RefCell<Recorder>>, value: &Value, place: Place) -> Option<String> {
    let name = value.name.as_deref()?;
    let own = Rc::ptr_eq(recorder, &value.recorder) && recorder.borrow().is_open(value.scope);
    if !own {
        let kind = AuthoringErrorKind::ForeignValue { value: name.to_owned(), made: value.made };
        recorder.borrow_mut().error(kind, place);
        return None;
    }
    Some(name.to_owned())
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { recorder: _, scope, name, made } = self;
        f.debug_struct("Value").field("name", name).field("scope", scope).field("made", made).finish()
    }
}

macro_rules! binary {
    ($($trait:ident $method:ident;)*) => {
        $(
            impl ops::$trait<&Value> for &Value {
                type Output = Value;

                #[track_caller]
                fn $method(self, other: &Value) -> Value {
                    Value::$method(self, other)
                }
            }

            impl ops::$trait<&Value> for Value {
                type Output = Value;

                #[track_caller]
                fn $method(self, other: &Value) -> Value {
                    Value::$method(&self, other)
                }
            }

            impl ops::$trait for Value {
                type Output = Value;

                #[track_caller]
                fn $method(self, other: Value) -> Value {
                    Value::$method(&self, &other)
                }
            }
        )*
    };
}

binary! { Add add; Sub sub; Mul mul; Div div; }

impl ops::Neg for &Value {
    type Output = Value;

    #[track_caller]
    fn neg(self) -> Value {
        Value::neg(self)
    }
}
