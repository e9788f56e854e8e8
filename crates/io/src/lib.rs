//! Reads and writes outside of the process: files of models, object stores, and models in object stores.
//!
//! | module | contents | feature |
//! |---|---|---|
//! | [`files`] | models and the files that they refer to on disk | |
//! | `stores` | object stores and local folders by URL; other stores than folders need the feature `cloud` | `stores` |
//! | `fleet` | the parts of models in stores that checks need | `fleet` |

pub mod files;

#[cfg(feature = "fleet")]
pub mod fleet;
#[cfg(feature = "stores")]
pub mod stores;
