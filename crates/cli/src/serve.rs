//! Serves one page to browsers on the same computer.
//!
//! | request | answer |
//! |---|---|
//! | `GET /` | the page |
//! | `GET /version` | the version of the page, which changes when the page does |
//!
//! The page asks for its version every second, and each of these requests looks at the source. So there is no
//! clock here, and nothing is done while no page is open.
//!
//! # Security
//!
//! The server listens on 127.0.0.1 only. A request must name this server as its host, so that pages of other
//! hosts cannot read the model by a name that they resolve to 127.0.0.1. Answers have a content security
//! policy, are not stored, and cannot be put into frames. Other users of the same computer can read the page
//! while it is served.
//!
//! **Limits:** heads of requests have at most [`http::MAX_HEAD`] bytes and must arrive within [`TIMEOUT`];
//! bodies are not read. At most [`MAX_CONNECTIONS`] connections are open, further ones wait.

mod http;

use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;

use http::{Answer, Status};

/// The time to receive the head of a request, or to send an answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of connections at the same time.
const MAX_CONNECTIONS: usize = 16;

/// A version of a page.
pub(crate) struct Page {
    pub(crate) html: String,
    pub(crate) policy: String,
    pub(crate) version: u64,
}

/// A source of pages.
pub(crate) trait Source: Send {
    /// The next version of the page, if the source has changed.
    fn refresh(&mut self) -> Option<Page>;
}

/// A server that listens.
pub(crate) struct Server {
    listener: TcpListener,
    port: u16,
}

struct Served<S> {
    source: S,
    page: Page,
}

impl Server {
    /// Listens on a port of this computer; on a free one if it is 0.
    pub(crate) fn listen(port: u16) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .with_context(|| format!("cannot listen on 127.0.0.1:{port}"))?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// The address of the page.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Answers requests until a signal ends the process.
    pub(crate) fn run(&self, page: Page, source: impl Source) -> anyhow::Result<()> {
        let served = Mutex::new(Served { source, page });
        let open = (Mutex::new(0), Condvar::new());
        std::thread::scope(|scope| {
            for stream in self.listener.incoming() {
                // The other end may be gone before the connection is accepted.
                let Ok(stream) = stream else { continue };
                let (count, changed) = &open;
                let mut count = lock(count);
                while *count >= MAX_CONNECTIONS {
                    count = changed.wait(count).unwrap_or_else(PoisonError::into_inner);
                }
                *count += 1;
                drop(count);
                let (served, open) = (&served, &open);
                let close = move || {
                    *lock(&open.0) -= 1;
                    open.1.notify_one();
                };
                let work = move || {
                    // An error concerns this connection only.
                    let _ = self.answer(stream, served);
                    close();
                };
                // Without a thread, the connection is closed.
                if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    close();
                }
            }
            Ok(())
        })
    }

    fn answer<S: Source>(&self, mut stream: TcpStream, served: &Mutex<Served<S>>) -> std::io::Result<()> {
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let request = http::read(&mut stream, self.port);
        let is_whole = request.is_ok();
        let bytes = match request {
            Err(status) => Answer::of(status).bytes(),
            Ok(request) => match request.path.as_str() {
                "/" => {
                    let served = lock(served);
                    Answer::page(&served.page.html, &served.page.policy).bytes()
                }
                "/version" => {
                    let mut served = lock(served);
                    if let Some(page) = served.source.refresh() {
                        served.page = page;
                    }
                    Answer::text(&served.page.version.to_string()).bytes()
                }
                _ => Answer::of(Status::NotFound).bytes(),
            },
        };
        stream.write_all(&bytes)?;
        stream.flush()?;
        if is_whole { Ok(()) } else { http::finish(stream) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
