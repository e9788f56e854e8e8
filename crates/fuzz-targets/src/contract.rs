//! Contracts for serving: reads arbitrary text, and writes the interface in all formats.

use typeloom_interface::{PortIdentity, compare};
use typeloom_pool::Pool;
use typeloom_pool::compat::Direction;
use typeloom_serving::{Contract, Format, Options, write};

/// Reads the bytes as a contract of each format.
///
/// Laws: a contract that is written from an interface can be read, and the projection of the interface has no difference
/// to it.
pub fn contract(bytes: &[u8]) {
    let _ = Contract::format_of(bytes, None);
    for format in Format::ALL {
        let Ok(contract) = Contract::read_as(format, bytes) else { continue };
        let interface = contract.interface();
        let _ = interface.to_pool(&mut Pool::new());
        for other in Format::ALL {
            let options = Options { name: contract.name().unwrap_or("model").to_owned(), max_batch: None };
            let Ok(text) = write(other, &interface, &options) else { continue };
            let Ok(again) = Contract::read_as(other, text.as_bytes()) else { continue };
            let part = again.project(&interface).interface;
            let comparison = compare(&again.interface(), &part, Direction::Full, PortIdentity::Name);
            assert!(comparison.differences.is_empty(), "{other}: {comparison}");
        }
    }
}
