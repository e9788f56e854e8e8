//! Contracts for serving: reads arbitrary text, and writes interfaces in all formats.

use typeloom_interface::{Interface, PortIdentity, compare};
use typeloom_pool::Pool;
use typeloom_pool::compat::Direction;
use typeloom_serving::{Contract, Format, Options, write};

/// Reads the bytes as a contract of each format, and writes the interface that it states.
pub fn contract(bytes: &[u8]) {
    let _ = Contract::format_of(bytes, None);
    for format in Format::ALL {
        let Ok(contract) = Contract::read_as(format, bytes) else { continue };
        let interface = contract.interface();
        let _ = interface.to_pool(&mut Pool::new());
        write_all(&interface, contract.name());
    }
}

/// Writes an interface in all formats.
///
/// Law: a contract that is written from an interface and can be read has no difference to the projection of
/// the interface.
pub(crate) fn write_all(interface: &Interface, name: Option<&str>) {
    let options = Options { name: name.map(str::to_owned), max_batch: None };
    for format in Format::ALL {
        let Ok(text) = write(format, interface, &options) else { continue };
        let Ok(again) = Contract::read_as(format, text.as_bytes()) else { continue };
        let part = again.project(interface).interface;
        let comparison = compare(&again.interface(), &part, Direction::Full, PortIdentity::Name);
        assert!(comparison.differences.is_empty(), "{format}: {comparison}");
    }
    let batches = Options { max_batch: Some(4), ..options };
    let _ = write(Format::Triton, interface, &batches);
}
