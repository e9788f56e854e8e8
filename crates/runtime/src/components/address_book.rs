//! The address book of a peer as a component of a module.
//!
//! Example of [`Addresses`]:
//!
//! ```
//! use std::sync::{Arc, Mutex};
//! use core::time::Duration;
//! use typeloom_runtime::components::address_book::{Addresses, SharedBook};
//! use typeloom_runtime::components::Components;
//! use typeloom_tensor::address::Multiaddress;
//! use typeloom_tensor::peer::PeerId;
//! use typeloom_wire::address_book::{AddressBook, BookLimits};
//!
//! /// A book of addresses that do not expire.
//! struct Installed(Mutex<AddressBook>);
//!
//! impl SharedBook for Installed {
//!     fn install(&self, peer: &PeerId, addresses: Vec<Multiaddress>) -> bool {
//!         self.0.lock().is_ok_and(|mut book| book.install(peer, addresses, None, Duration::ZERO))
//!     }
//!
//!     fn look_up(&self, peer: &PeerId) -> Vec<Multiaddress> {
//!         self.0.lock().map(|book| book.look_up(peer, Duration::ZERO)).unwrap_or_default()
//!     }
//!
//!     fn remove(&self, peer: &PeerId) {
//!         let _ = self.0.lock().map(|mut book| book.remove(peer));
//!     }
//!
//!     fn own(&self) -> Vec<Multiaddress> {
//!         Vec::new()
//!     }
//! }
//!
//! let book = Installed(Mutex::new(AddressBook::new(BookLimits::default())));
//! let components = Components::new().protocol("book", Addresses(Arc::new(book)));
//! ```

use std::sync::Arc;

use typeloom_contracts::address_book::ADDRESS_BOOK;
use typeloom_contracts::protocol::Protocol;
use typeloom_onnx::messages::AttributeProto;
use typeloom_tensor::address::Multiaddress;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;
use typeloom_types::op::AtomicOpsetDecl;
use typeloom_wire::memory::AddressedTransport;
use typeloom_wire::transport::Transport as _;

use super::protocol::RunProtocol;

/// An address book that a transport and the modules of a program share.
pub trait SharedBook: Send + Sync {
    /// Adds addresses of a peer that do not expire. Returns whether the book had the capacity for all of
    /// them.
    fn install(&self, peer: &PeerId, addresses: Vec<Multiaddress>) -> bool;

    /// The addresses of a peer that have not expired.
    fn look_up(&self, peer: &PeerId) -> Vec<Multiaddress>;

    /// Removes the addresses of a peer.
    fn remove(&self, peer: &PeerId);

    /// The addresses at which other peers reach this one.
    fn own(&self) -> Vec<Multiaddress>;
}

impl SharedBook for AddressedTransport {
    fn install(&self, peer: &PeerId, addresses: Vec<Multiaddress>) -> bool {
        self.install(peer, addresses, None)
    }

    fn look_up(&self, peer: &PeerId) -> Vec<Multiaddress> {
        self.look_up(peer)
    }

    fn remove(&self, peer: &PeerId) {
        self.remove(peer);
    }

    fn own(&self) -> Vec<Multiaddress> {
        self.addresses()
    }
}

/// The component of a slot of an address book, see [`ADDRESS_BOOK`].
#[derive(Clone)]
pub struct Addresses(pub Arc<dyn SharedBook>);

/// Error of an operator on an address book.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BookError {
    /// The book has no capacity for the addresses of another peer, or for more addresses of the peer.
    #[error("the address book is full")]
    Full,
    /// The inputs are not those of an operator.
    #[error("`{operator}` does not take these values: {found}")]
    Inputs { operator: String, found: String },
}

impl Protocol for Addresses {
    const OPSET: &'static AtomicOpsetDecl = &ADDRESS_BOOK;
}

impl RunProtocol for Addresses {
    type Error = BookError;

    fn call(
        &mut self,
        operator: &str,
        inputs: &[Option<Datum>],
        _: &[AttributeProto],
    ) -> Result<Vec<Datum>, BookError> {
        let Self(book) = self;
        let result = match (operator, inputs) {
            ("Install", [Some(Datum::Peer(peer)), Some(Datum::Addresses(addresses))]) => {
                if !book.install(peer, addresses.clone()) {
                    return Err(BookError::Full);
                }
                Datum::Trigger
            }
            ("LookUp", [Some(Datum::Peer(peer))]) => Datum::Addresses(book.look_up(peer)),
            ("Remove", [Some(Datum::Peer(peer))]) => {
                book.remove(peer);
                Datum::Trigger
            }
            ("Own", _) => Datum::Addresses(book.own()),
            _ => {
                let found: Vec<String> = inputs.iter().flatten().map(Datum::describe).collect();
                return Err(BookError::Inputs { operator: operator.to_owned(), found: found.join(", ") });
            }
        };
        Ok(vec![result])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A book that has no capacity.
    struct Full;

    impl SharedBook for Full {
        fn install(&self, _: &PeerId, _: Vec<Multiaddress>) -> bool {
            false
        }

        fn look_up(&self, _: &PeerId) -> Vec<Multiaddress> {
            Vec::new()
        }

        fn remove(&self, _: &PeerId) {}

        fn own(&self) -> Vec<Multiaddress> {
            Vec::new()
        }
    }

    #[test]
    fn a_full_book_and_wrong_values_are_errors() {
        let mut addresses = Addresses(Arc::new(Full));
        let (peer, none) = (Some(Datum::Peer(PeerId(vec![1]))), Some(Datum::Addresses(Vec::new())));
        let mut call = |operator: &str, inputs: &[Option<Datum>]| addresses.call(operator, inputs, &[]);
        assert_eq!(call("Install", &[peer.clone(), none.clone()]), Err(BookError::Full));
        assert_eq!(call("LookUp", std::slice::from_ref(&peer)), Ok(vec![Datum::Addresses(Vec::new())]));
        let error = call("LookUp", &[none]).expect_err("a list of addresses is no peer");
        assert_eq!(error.to_string(), "`LookUp` does not take these values: address_vec");
        assert_eq!(call("Remove", &[peer]), Ok(vec![Datum::Trigger]));
    }
}
