//! The wire: typed values between peers.
//!
//! A module with sends is compiled into parts, one for each class of peers. Where a part sends, the value goes to an
//! [`Endpoint`](endpoint::Endpoint) of its peer, in an [`Envelope`](envelope::Envelope) that says what it is for (run, program, peer
//! class, name on the wire) and what it is (the digest of the declared type, and the tag of the leaf). A receiver takes what its port
//! expects, and refuses everything else with a [`Refusal`](receipt::Refusal) that the sender gets as a typed error.
//!
//! | module | what it holds |
//! |---|---|
//! | [`envelope`], [`receipt`] | messages and their answers, in bytes; specified in `docs/wire-format.md` |
//! | [`port`] | the types of ports: identity, and values held against it |
//! | [`transport`], [`memory`] | what carries messages, and the embedded one, inside a process |
//! | [`endpoint`], [`send`], [`delivery`] | outbox and mailbox |
//! | [`journal`], [`clock`] | what whoever embeds the runtime brings: memory across restarts, and time |
//! | [`limits`], [`error`] | how much a message may ask for, and what can be wrong with it |
//!
//! # What holds
//!
//! **Nothing that was acknowledged is lost, and nothing is delivered twice**, though transports lose, repeat, delay and reorder
//! messages, peers are cut off, and processes are killed at any moment.
//!
//! *At the receiver.* A message is written to the journal before it is acknowledged, so that a receiver that is killed behind
//! that has it when it is opened anew. Its number is remembered by the same record, so that a copy that arrives later, also
//! after a restart, is acknowledged and not taken. The numbers that have to be remembered are few: each message carries the sender's
//! *floor*, before which it waits for nothing, and what is below is refused.
//!
//! *At the program.* A value is handed out until it is dealt with ([`Delivery::commit`](delivery::Delivery::commit)). That it was, what the
//! program remembers from then on, and the messages that follow from it are one record: after a restart all of it happened, or
//! nothing did.
//!
//! *At the sender.* A message is numbered and written down before it is tried, and has this number in every attempt, also after a
//! restart. A sender that keeps no journal begins a new, greater incarnation instead, and receivers refuse what is left of the
//! one before.
//!
//! *Everything ends.* Every call has a deadline. What is not acknowledged by then is an error that says that the value may or may
//! not have arrived; nobody can know more.
//!
//! **Invariant:** nothing here does input or output or reads a clock: transports, journals and clocks are given.

pub mod check;
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

mod bytes;
mod record;
mod state;
mod value;
