//! One scene and the buffer through which a page asks about it.

use super::Engine;

const NOT_OPEN: &str = r#"{"error":"no scene is open"}"#;

/// A scene and a buffer.
pub(crate) struct Session {
    buffer: Vec<u8>,
    engine: Option<Engine>,
}

impl Session {
    pub(crate) const fn new() -> Self {
        Self { buffer: Vec::new(), engine: None }
    }

    /// A buffer of zeros; `None` if there is not enough memory.
    pub(crate) fn reserve(&mut self, size: usize) -> Option<&mut [u8]> {
        self.buffer.clear();
        self.buffer.try_reserve_exact(size).ok()?;
        self.buffer.resize(size, 0);
        Some(&mut self.buffer)
    }

    /// Takes the buffer as a scene; returns whether it is one. The buffer is then empty, or contains an error
    /// message.
    pub(crate) fn open(&mut self) -> bool {
        let bytes = std::mem::take(&mut self.buffer);
        let opened = Engine::open(&bytes);
        match opened {
            Ok(engine) => self.engine = Some(engine),
            Err(error) => self.buffer = error.to_string().into_bytes(),
        }
        self.buffer.is_empty()
    }

    /// Replaces the request in the buffer by the answer, and returns its length.
    pub(crate) fn answer(&mut self) -> usize {
        let request = std::mem::take(&mut self.buffer);
        let answer = match &mut self.engine {
            Some(engine) => engine.answer(&String::from_utf8_lossy(&request)),
            None => NOT_OPEN.to_owned(),
        };
        self.buffer = answer.into_bytes();
        self.buffer.len()
    }

    pub(crate) fn buffer(&self) -> &[u8] {
        &self.buffer
    }
}

#[cfg(test)]
mod tests {
    use typeloom_solver::model::Options;

    use super::*;
    use crate::{scene, wire};

    /// The bytes of a scene with one node.
    fn scene_bytes() -> Vec<u8> {
        let text = "<ir_version: 10, opset_import: [\"\" : 21]> g (float[N] x) => (y) { y = Neg(x) }";
        let model = typeloom_onnx::text::model_bytes(text).expect("the text is a model");
        let mut checked = typeloom_ops::check::check(&model, &Options::default()).expect("it is checked");
        wire::encode(&scene::scene(&mut checked, &[]))
    }

    /// Puts bytes into the buffer.
    fn put(session: &mut Session, bytes: &[u8]) {
        session.reserve(bytes.len()).expect("there is memory").copy_from_slice(bytes);
    }

    fn ask(session: &mut Session, request: &[u8]) -> serde_json::Value {
        put(session, request);
        assert_eq!(session.answer(), session.buffer().len());
        serde_json::from_slice(session.buffer()).expect("the answer is JSON")
    }

    const SUMMARY: &[u8] = br#"{"ask":"summary"}"#;

    #[test]
    fn requests_are_answered_about_the_open_scene() {
        let mut session = Session::new();
        assert_eq!(ask(&mut session, SUMMARY)["error"], "no scene is open");
        put(&mut session, &scene_bytes());
        assert!(session.open(), "{}", String::from_utf8_lossy(session.buffer()));
        assert_eq!(ask(&mut session, SUMMARY)["nodes"], 1);
        for malformed in [&b"\xff"[..], b"", b"{\"ask\":\"other\"}"] {
            assert!(ask(&mut session, malformed)["error"].is_string(), "{malformed:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_scene_are_refused_and_the_open_scene_stays() {
        let mut session = Session::new();
        put(&mut session, &scene_bytes());
        assert!(session.open());
        put(&mut session, b"no scene");
        assert!(!session.open());
        assert_eq!(String::from_utf8_lossy(session.buffer()), "the bytes are not a scene");
        assert_eq!(ask(&mut session, SUMMARY)["nodes"], 1);
    }

    #[test]
    fn a_buffer_without_memory_is_refused() {
        let mut session = Session::new();
        assert!(session.reserve(usize::MAX).is_none());
        assert!(session.buffer().is_empty());
    }
}
