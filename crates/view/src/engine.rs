//! The engine of an interactive page: it answers requests about a scene.
//!
//! A page sends a [`Request`] as JSON and receives an [`Answer`] as JSON. The page keeps the state (expanded
//! groups, the selected item); the engine keeps the scene, an index, and the levels and layouts of the last
//! pictures.
//!
//! **Invariant:** every request has an answer: malformed ones get a [`Failure`]. There are no threads, clocks
//! or files, so that the engine runs as WebAssembly.
//!
//! **Cost:** a search and the index are linear in the scene. Everything else depends on the parts that are
//! shown: lists are cut, pictures have a maximum number of boxes, and a level costs the reads of the nodes
//! below its group once. Nothing recurses.

pub mod answers;
pub(crate) mod item;
pub(crate) mod paths;
pub mod request;

mod causes;
mod details;
mod draw;
mod groups;
mod index;
mod links;
mod messages;
mod neighbours;
mod reveal;
mod search;
#[cfg(any(test, target_family = "wasm"))]
mod session;
mod summary;
mod targets;
#[cfg(target_family = "wasm")]
mod wasm;

use answers::{Answer, Failure, Found};
use draw::Drawn;
use index::Index;
use item::Subject;
use request::Request;

use crate::recent::Cache;
use crate::scene::{Group, Scene};
use crate::wire;

/// Maximum size of a request, in bytes.
pub const MAX_REQUEST: usize = 1 << 22;

/// An engine for one scene.
#[derive(Debug)]
pub struct Engine {
    scene: Scene,
    index: Index,
    /// The last picture.
    drawn: Option<Drawn>,
    cache: Cache,
}

/// A request without an answer.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("the request has more than {MAX_REQUEST} bytes")]
    TooLong,
    #[error("the request is malformed: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("there is no item `{0}`")]
    UnknownItem(String),
    #[error("there is no target `{0}`")]
    UnknownTarget(String),
    #[error("`{0}` is not a value")]
    NoValue(String),
}

impl Engine {
    /// An engine for an encoded scene.
    ///
    /// # Errors
    /// If the bytes are no scene, see [`wire`].
    pub fn open(bytes: &[u8]) -> Result<Self, wire::Error> {
        Ok(Self::of(wire::decode(bytes)?))
    }

    /// An engine for a scene.
    #[must_use]
    pub fn of(mut scene: Scene) -> Self {
        // A scene has a graph, which may be empty.
        if scene.groups.is_empty() {
            scene.groups.push(Group::default());
        }
        let index = Index::of(&scene);
        Self { scene, index, drawn: None, cache: Cache::default() }
    }

    /// The scene.
    #[must_use]
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Answers a request in JSON, see [`Request`], in JSON, see [`Answer`].
    pub fn answer(&mut self, request: &str) -> String {
        let answer = if request.len() > MAX_REQUEST {
            Err(Refusal::TooLong)
        } else {
            serde_json::from_str(request).map_err(Refusal::from).and_then(|request| self.reply(&request))
        };
        let answer = answer.unwrap_or_else(|refusal| {
            Answer::Failure(Failure {
                error: crate::text::short(&refusal.to_string(), crate::text::MAX_DETAIL),
            })
        });
        // The types of answers have no maps with other keys than strings, so their serialization does not
        // fail.
        serde_json::to_string(&answer).unwrap_or_else(|_| r#"{"error":"the answer is no JSON"}"#.to_owned())
    }

    fn reply(&mut self, request: &Request) -> Result<Answer, Refusal> {
        Ok(match request {
            Request::Summary {} => Answer::Summary(Box::new(self.summary())),
            Request::Draw(view) => Answer::Picture(self.draw(view)),
            Request::Export(view) => Answer::File(self.export(view)),
            Request::Details { item } => Answer::Details(Box::new(self.details(self.subject(item)?))),
            Request::Causes { item } => match self.subject(item)? {
                Subject::Value(value) => Answer::Causes(self.causes(value)),
                Subject::Mark(mark) => Answer::Causes(self.causes_of_mark(mark)),
                Subject::Group(_) | Subject::Node(_) => {
                    return Err(Refusal::NoValue(item.to_owned()));
                }
            },
            Request::Reveal { item, expanded } => {
                let subject = self.subject(item)?;
                Answer::Reveal(self.reveal(subject, expanded.as_deref()))
            }
            Request::Search { query, limit } => Answer::Results(self.search(query, *limit)),
            Request::Groups { place } => Answer::Groups(self.groups(place)),
            Request::Find { link } => {
                Answer::Found(Found { item: self.find(link).map(|subject| subject.to_string()) })
            }
            Request::Target { name } => match targets::named(&self.scene, name) {
                Some(target) => Answer::Target(self.target_view(target)),
                None => return Err(Refusal::UnknownTarget(name.to_owned())),
            },
            Request::Neighbours { item, place, expanded } => {
                let subject = self.subject(item)?;
                Answer::Neighbours(self.neighbours(subject, place.as_deref(), expanded.as_deref()))
            }
        })
    }

    fn subject(&self, text: &str) -> Result<Subject, Refusal> {
        Subject::parse(&self.scene, text).ok_or_else(|| Refusal::UnknownItem(text.to_owned()))
    }
}
