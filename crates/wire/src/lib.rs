//! Typed messages between peers.
//!
//! A module with sends is compiled into one part per peer class. A part sends a value through the
//! [`Endpoint`](endpoint::Endpoint) of its peer, in an [`Envelope`](envelope::Envelope) with the destination
//! (run, program, peer class, wire name) and the type (digest of the declared type, wire tag of the leaf).
//! The receiver accepts values that match the type of the port and answers all other messages with a
//! [`Refusal`](receipt::Refusal), which the sender gets as a typed error.
//!
//! | module | content |
//! |---|---|
//! | [`envelope`], [`receipt`] | encoding of messages and receipts; specified in `docs/wire-format.md` |
//! | [`port`] | types of ports |
//! | [`transport`], [`memory`] | the transport interface and the in-process transport |
//! | [`address_book`] | addresses of peers, for transports |
//! | [`endpoint`], [`send`], [`delivery`] | outbox and mailbox |
//! | [`journal`], [`clock`] | interfaces that the embedder implements: durable storage and time |
//! | [`limits`], [`error`] | size limits and decoding errors |
//!
//! # Guarantees
//!
//! **No acknowledged message is lost, and no message is delivered twice**, even if the transport loses,
//! duplicates, delays or reorders messages, peers are disconnected, or processes are killed at any moment.
//!
//! *Receiver.* A message is written to the journal before it is acknowledged, so a restarted receiver still
//! has it. The same record stores the message number: a duplicate, including one that arrives after a
//! restart, is acknowledged and dropped. Every message contains the sender's *floor*, the lowest number that
//! can still be sent again. Messages below the floor are refused, so only numbers from the floor on have to
//! be stored.
//!
//! *Program.* A value stays in the mailbox until it is committed
//! ([`Delivery::commit`](delivery::Delivery::commit)). One record contains the commit, the new program state
//! and the messages that result from it: after a restart, either all of them are applied or none.
//!
//! *Sender.* A message is numbered and written to the journal before the first attempt, and keeps its number
//! in all attempts, including those after a restart. A sender without a journal starts with a new, greater
//! incarnation instead, and receivers refuse messages of earlier incarnations.
//!
//! *Deadlines.* Every call has a timeout. A message that is not acknowledged in time results in an error; the
//! value may or may not have arrived.
//!
//! **Invariant:** this crate performs no I/O and reads no clock. Transport, journal and clock are supplied by
//! the embedder.

pub mod address_book;
pub mod clock;
pub mod delivery;
pub mod endpoint;
pub mod envelope;
pub mod error;
pub mod journal;
pub mod limits;
pub mod memory;
pub mod port;
pub mod receipt;
pub mod send;
pub mod transport;

mod codec;
mod entry;
mod state;
mod value;
