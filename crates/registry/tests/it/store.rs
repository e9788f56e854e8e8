//! A store whose operations fail on demand.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use object_store::path::Path as Key;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use typeloom_testing::Random;

/// An error that is injected into an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// The operation has no effect and reports an error.
    Before,
    /// The operation takes effect and reports an error.
    After,
    /// The client ends before the operation.
    KillBefore,
    /// The client ends after the operation took effect.
    KillAfter,
}

impl Failure {
    pub(crate) const ALL: [Self; 4] = [Self::Before, Self::After, Self::KillBefore, Self::KillAfter];
}

/// A function that is called before an object is written.
pub(crate) type Hook = Box<dyn Fn(&Key) + Send + Sync>;

/// The conditions of writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Conditions {
    /// They hold.
    Kept,
    /// Objects are replaced although the request requires that they do not exist.
    Ignored,
}

/// The operations that fail.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// None.
    None,
    /// The operation of this number, from 0.
    At(usize, Failure),
    /// One in `one_in` operations, with a random failure.
    Random { random: Random, one_in: u64 },
}

#[derive(Debug)]
struct State {
    plan: Plan,
    operations: usize,
    is_dead: bool,
}

/// A client's view of a store. Others see the effects, but not the errors.
pub(crate) struct Failing {
    inner: Arc<dyn ObjectStore>,
    state: Arc<Mutex<State>>,
    hook: Option<Hook>,
    conditions: Conditions,
}

impl fmt::Debug for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Failing {
    pub(crate) fn new(inner: &Arc<dyn ObjectStore>, plan: Plan) -> Self {
        let state = State { plan, operations: 0, is_dead: false };
        let state = Arc::new(Mutex::new(state));
        Self { inner: Arc::clone(inner), state, hook: None, conditions: Conditions::Kept }
    }

    /// Calls a function before each write.
    pub(crate) fn with_hook(mut self, hook: Hook) -> Self {
        self.hook = Some(hook);
        self
    }

    pub(crate) fn with_conditions(mut self, conditions: Conditions) -> Self {
        self.conditions = conditions;
        self
    }

    /// The number of operations so far.
    pub(crate) fn operations(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).operations
    }

    /// Whether the client has ended.
    pub(crate) fn is_dead(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_dead
    }

    /// The error of the next operation: before it, or after it.
    fn next(&self) -> Result<Option<Error>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_dead {
            return Err(error("the client has ended"));
        }
        let number = state.operations;
        state.operations += 1;
        let failure = match &mut state.plan {
            Plan::None => None,
            Plan::At(at, failure) => (*at == number).then_some(*failure),
            Plan::Random { random, one_in } => {
                random.one_in(*one_in).then(|| Failure::ALL[random.below(Failure::ALL.len())])
            }
        };
        match failure {
            None => Ok(None),
            Some(Failure::Before) => Err(error("an error before the operation")),
            Some(Failure::After) => Ok(Some(error("an error after the operation"))),
            Some(Failure::KillBefore) => {
                state.is_dead = true;
                Err(error("the client ends before the operation"))
            }
            Some(Failure::KillAfter) => {
                state.is_dead = true;
                Ok(Some(error("the client ends after the operation")))
            }
        }
    }
}

fn error(text: &str) -> Error {
    Error::Generic { store: "Failing", source: text.into() }
}

/// The result of an operation, or the error after it.
fn after<T>(result: Result<T>, error: Option<Error>) -> Result<T> {
    error.map_or(result, Err)
}

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failing({})", self.inner)
    }
}

#[async_trait]
impl ObjectStore for Failing {
    async fn put_opts(&self, key: &Key, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        if let Some(hook) = &self.hook {
            hook(key);
        }
        let error = self.next()?;
        let options = match self.conditions {
            Conditions::Kept => options,
            Conditions::Ignored => PutOptions::default(),
        };
        after(self.inner.put_opts(key, payload, options).await, error)
    }

    async fn put_multipart_opts(&self, _: &Key, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(error("a registry writes whole objects"))
    }

    async fn get_opts(&self, key: &Key, options: GetOptions) -> Result<GetResult> {
        let error = self.next()?;
        after(self.inner.get_opts(key, options).await, error)
    }

    fn delete_stream(&self, keys: BoxStream<'static, Result<Key>>) -> BoxStream<'static, Result<Key>> {
        match self.next() {
            Err(error) => futures_util::stream::once(async { Err(error) }).boxed(),
            Ok(None) => self.inner.delete_stream(keys),
            Ok(Some(error)) => {
                let mut error = Some(error);
                let deleted = self.inner.delete_stream(keys);
                deleted.map(move |result| after(result, error.take())).boxed()
            }
        }
    }

    fn list(&self, prefix: Option<&Key>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.next() {
            Err(error) | Ok(Some(error)) => futures_util::stream::once(async { Err(error) }).boxed(),
            Ok(None) => self.inner.list(prefix),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Key>) -> Result<ListResult> {
        let error = self.next()?;
        after(self.inner.list_with_delimiter(prefix).await, error)
    }

    async fn copy_opts(&self, _: &Key, _: &Key, _: CopyOptions) -> Result<()> {
        Err(error("a registry copies nothing"))
    }
}
