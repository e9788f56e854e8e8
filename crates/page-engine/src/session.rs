//! One scene and the buffer through which a page asks about it.

use typeloom_view::engine::Engine;

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

    /// Takes the buffer as a scene; returns whether it is one. The buffer is then empty, or contains an error message.
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
