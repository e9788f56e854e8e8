//! Files that commands read and write: none is replaced by accident, and none has an effect on others.

use super::ci::support;

mod hostile;
mod outputs;
mod signals;
