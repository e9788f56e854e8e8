//! Roles: the contracts as an enum.

use std::fmt;

macro_rules! roles {
    ($($role:ident $domain:literal [$($alias:literal),*] $doc:literal;)*) => {
        /// Contract that a component implements or a slot requires.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Role {
            $(#[doc = $doc] $role,)*
        }

        impl Role {
            pub const ALL: &[Self] = &[$(Self::$role),*];

            /// Name of the contract's trait; the value of the `required_trait` attribute of a node.
            #[must_use]
            pub const fn trait_name(self) -> &'static str {
                match self {
                    $(Self::$role => stringify!($role),)*
                }
            }

            /// Domain of the contract's operators. Empty for a backend, whose operators are those of ONNX,
            /// and for a protocol, which declares its domain in its operator set.
            #[must_use]
            pub const fn domain(self) -> &'static str {
                match self {
                    $(Self::$role => $domain,)*
                }
            }

            /// Names of the associated types that are storages.
            #[must_use]
            pub const fn storages(self) -> &'static [&'static str] {
                match self {
                    $(Self::$role => &[$($alias),*],)*
                }
            }
        }
    };
}

roles! {
    Backend "" ["Tensor"] "Computes tensor operators.";
    Index "ai.bytesandbrains.index" ["Vector"] "Finds the nearest of stored vectors.";
    Model "ai.bytesandbrains.model" ["Tensor"] "Predicts and is trained through its parameters.";
    Aggregator "ai.bytesandbrains.aggregator" ["Element"] "Combines the contributions of several peers.";
    Codec "ai.bytesandbrains.codec" ["In", "Out"] "Converts to another representation and back.";
    DataSource "ai.bytesandbrains.data_source" ["Sample"] "Returns batches of samples.";
    PeerSelector "ai.bytesandbrains.peer_selector" [] "Chooses peers.";
    Protocol "" [] "Runs operators that other crates declare.";
}

impl Role {
    /// Returns the role whose trait has this name.
    #[must_use]
    pub fn from_trait_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|role| role.trait_name() == name)
    }

    /// Name of the compiler method that binds a component of this role.
    #[must_use]
    pub const fn bind_method(self) -> &'static str {
        match self {
            Self::Backend => "bind_backend",
            Self::Index => "bind_index",
            Self::Model => "bind_model",
            Self::Aggregator => "bind_aggregator",
            Self::Codec => "bind_codec",
            Self::DataSource => "bind_data_source",
            Self::PeerSelector => "bind_peer_selector",
            Self::Protocol => "bind_protocol",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.trait_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_found_by_the_name_of_its_trait() {
        for role in Role::ALL {
            assert_eq!(Role::from_trait_name(role.trait_name()), Some(*role));
        }
        assert_eq!(Role::from_trait_name("backend"), None);
    }
}
