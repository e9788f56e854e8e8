//! The declaration macros of the message structs.
//!
//! `messages!` resembles `#[derive(prost::Message)]` and also preserves unknown fields. The derive macros of
//! prost would also add a fifth to the time until this crate compiles, because they need a parser of Rust.
//! From one line per field it generates the struct, its [`prost::Message`] implementation, the getters of
//! optional fields and the [`schema`](super::schema). A line has the form
//! `pub name: RustType = label kind number`, with the labels
//!
//! | label | Rust type | wire form |
//! |---|---|---|
//! | `optional` | `Option<T>` or `Text` | present at most once; the last occurrence wins, messages are merged |
//! | `repeated` | `Vec<T>` | one field per element; numbers are also read packed |
//! | `packed` | `Vec<T>` | written packed; also read unpacked |
//! | `enumeration` | `Option<i32>` | an open enum: unknown numbers are kept |
//! | `oneof` | `Option<E>` | at most one of several numbers, `E` is declared by `oneofs!` |
//!
//! and as `kind` the name of a module of [`encoding`](super::encoding). Fields are declared and encoded in
//! the order of their numbers.

macro_rules! messages {
    ($(
        $(#[$meta:meta])*
        pub struct $message:ident {$(
            $(#[$field_meta:meta])*
            pub $field:ident: $ty:ty = $label:ident $kind:tt $($number:literal)|+
        ),* $(,)?}
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $message {
            $( $(#[$field_meta])* pub $field: $ty, )*
            /// Fields of newer or foreign schemas, kept verbatim and written back after the known fields.
            pub unknown_fields: $crate::messages::UnknownFields,
        }

        impl ::prost::Message for $message {
            #[allow(unused_variables, reason = "a message may have no fields")]
            fn encode_raw(&self, buf: &mut impl ::bytes::BufMut) {
                let Self { $($field,)* unknown_fields } = self;
                $( messages!(@encode $label $kind ($($number),+) $field buf); )*
                unknown_fields.encode_raw(buf);
            }

            fn merge_field(
                &mut self,
                tag: u32,
                wire_type: ::prost::encoding::WireType,
                buf: &mut impl ::bytes::Buf,
                ctx: ::prost::encoding::DecodeContext,
            ) -> Result<(), ::prost::DecodeError> {
                match tag {
                    $( $($number)|+ => {
                        let slot = &mut self.$field;
                        messages!(@merge $label $kind $ty, slot tag wire_type buf ctx).map_err(|mut error| {
                            error.push(stringify!($message), stringify!($field));
                            error
                        })
                    } )*
                    _ => self.unknown_fields.merge_field(tag, wire_type, buf, ctx),
                }
            }

            fn encoded_len(&self) -> usize {
                let Self { $($field,)* unknown_fields } = self;
                unknown_fields.encoded_len()
                $( + messages!(@len $label $kind ($($number),+) $field) )*
            }

            fn clear(&mut self) {
                *self = Self::default();
            }
        }

        impl $crate::messages::schema::Described for $message {
            const SCHEMA: &'static $crate::messages::schema::MessageSchema =
                &$crate::messages::schema::MessageSchema {
                    name: stringify!($message),
                    fields: &[$( messages!(@schema $message $label $kind ($($number),+) $field $ty) ),*],
                };
        }

        impl $message {
            $( messages!(@getter $label $kind $field); )*
        }
    )*};

    (@encode optional $kind:ident ($number:literal) $field:ident $buf:ident) => {
        if let Some(value) = $crate::messages::Singular::value($field) {
            $crate::messages::encoding::$kind::encode($number, value, $buf);
        }
    };
    (@encode enumeration $enum:tt ($number:literal) $field:ident $buf:ident) => {
        messages!(@encode optional int32 ($number) $field $buf)
    };
    (@encode repeated $kind:ident ($number:literal) $field:ident $buf:ident) => {
        $crate::messages::encoding::$kind::encode_repeated($number, $field, $buf)
    };
    (@encode packed $kind:ident ($number:literal) $field:ident $buf:ident) => {
        $crate::messages::encoding::$kind::encode_packed($number, $field, $buf)
    };
    (@encode oneof $enum:tt ($($number:literal),+) $field:ident $buf:ident) => {
        if let Some(value) = $field {
            value.encode($buf);
        }
    };

    (@merge optional $kind:ident $ty:ty, $slot:ident $tag:ident $wire:ident $buf:ident $ctx:ident) => {
        $crate::messages::encoding::$kind::merge($wire, $crate::messages::Singular::value_mut($slot), $buf, $ctx)
    };
    (@merge enumeration $enum:tt $ty:ty, $slot:ident $tag:ident $wire:ident $buf:ident $ctx:ident) => {
        messages!(@merge optional int32 $ty, $slot $tag $wire $buf $ctx)
    };
    (@merge repeated $kind:ident $ty:ty, $slot:ident $tag:ident $wire:ident $buf:ident $ctx:ident) => {
        $crate::messages::encoding::$kind::merge_repeated($wire, $slot, $buf, $ctx)
    };
    (@merge packed $kind:ident $ty:ty, $slot:ident $tag:ident $wire:ident $buf:ident $ctx:ident) => {
        $crate::messages::encoding::$kind::merge_repeated($wire, $slot, $buf, $ctx)
    };
    (@merge oneof ($enum:ty) $ty:ty, $slot:ident $tag:ident $wire:ident $buf:ident $ctx:ident) => {
        <$enum>::merge($slot, $tag, $wire, $buf, $ctx)
    };

    (@len optional $kind:ident ($number:literal) $field:ident) => {
        $crate::messages::Singular::value($field)
            .map_or(0, |value| $crate::messages::encoding::$kind::encoded_len($number, value))
    };
    (@len enumeration $enum:tt ($number:literal) $field:ident) => {
        messages!(@len optional int32 ($number) $field)
    };
    (@len repeated $kind:ident ($number:literal) $field:ident) => {
        $crate::messages::encoding::$kind::encoded_len_repeated($number, $field)
    };
    (@len packed $kind:ident ($number:literal) $field:ident) => {
        $crate::messages::encoding::$kind::encoded_len_packed($number, $field)
    };
    (@len oneof $enum:tt ($($number:literal),+) $field:ident) => {
        $field.as_ref().map_or(0, |value| value.encoded_len())
    };

    (@schema $message:ident oneof ($enum:ty) ($($number:literal),+) $field:ident $ty:ty) => {
        $crate::messages::schema::Entry::OneOf(
            <$enum as $crate::messages::schema::DescribedOneOf>::MEMBERS
        )
    };
    (@schema $message:ident $label:ident $kind:tt ($number:literal) $field:ident $ty:ty) => {
        $crate::messages::schema::Entry::Field($crate::messages::schema::FieldSchema {
            number: $number,
            name: $crate::error::FieldName {
                message: stringify!($message),
                field: $crate::messages::schema::plain(stringify!($field)),
            },
            label: messages!(@label $label),
            kind: messages!(@kind $kind $ty),
        })
    };
    (@label optional) => { $crate::messages::schema::Label::Optional };
    (@label enumeration) => { $crate::messages::schema::Label::Optional };
    (@label repeated) => { $crate::messages::schema::Label::Repeated };
    (@label packed) => { $crate::messages::schema::Label::Packed };
    (@kind string $ty:ty) => { $crate::messages::schema::Kind::String };
    (@kind text $ty:ty) => { $crate::messages::schema::Kind::String };
    (@kind bytes $ty:ty) => { $crate::messages::schema::Kind::Bytes };
    (@kind int32 $ty:ty) => { $crate::messages::schema::Kind::Int32 };
    (@kind int64 $ty:ty) => { $crate::messages::schema::Kind::Int64 };
    (@kind uint64 $ty:ty) => { $crate::messages::schema::Kind::Uint64 };
    (@kind float $ty:ty) => { $crate::messages::schema::Kind::Float };
    (@kind double $ty:ty) => { $crate::messages::schema::Kind::Double };
    (@kind message $ty:ty) => {
        $crate::messages::schema::Kind::Message(
            <<$ty as $crate::messages::schema::Wraps>::Inner as $crate::messages::schema::Described>::schema
        )
    };
    (@kind ($enum:ty) $ty:ty) => { $crate::messages::schema::Kind::Enum };

    (@getter optional string $field:ident) => {
        #[doc = concat!("The field `", stringify!($field), "`, or the empty string where it is absent.")]
        pub fn $field(&self) -> &str {
            self.$field.as_str()
        }
    };
    (@getter optional text $field:ident) => { messages!(@getter optional string $field); };
    (@getter optional bytes $field:ident) => {
        #[doc = concat!("The field `", stringify!($field), "`, or no bytes where it is absent.")]
        pub fn $field(&self) -> &[u8] {
            self.$field.as_deref().unwrap_or_default()
        }
    };
    (@getter optional int32 $field:ident) => { messages!(@scalar i32 $field); };
    (@getter optional int64 $field:ident) => { messages!(@scalar i64 $field); };
    (@getter optional float $field:ident) => { messages!(@scalar f32 $field); };
    (@getter enumeration ($enum:ty) $field:ident) => {
        #[doc = concat!("The field `", stringify!($field), "`; the enum's first value where it is absent or unknown.")]
        pub fn $field(&self) -> $enum {
            self.$field.and_then(|number| number.try_into().ok()).unwrap_or_default()
        }
    };
    (@getter $label:ident $kind:tt $field:ident) => {};
    (@scalar $ty:ident $field:ident) => {
        #[doc = concat!("The field `", stringify!($field), "`, or zero where it is absent.")]
        pub fn $field(&self) -> $ty {
            self.$field.unwrap_or_default()
        }
    };
}

/// Declares protobuf enums: the Rust variant, its number and its name in ONNX.
macro_rules! enumerations {
    ($(
        $(#[$meta:meta])*
        pub enum $enum:ident {$(
            $(#[$variant_meta:meta])*
            $variant:ident = $number:literal $name:literal
        ),* $(,)?}
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(i32)]
        pub enum $enum {$(
            $(#[$variant_meta])*
            $variant = $number,
        )*}

        impl $enum {
            /// Every value, in the order of ONNX's declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The value's name in ONNX.
            pub const fn as_str_name(self) -> &'static str {
                match self {
                    $( Self::$variant => $name, )*
                }
            }

            /// The value with this name in ONNX.
            pub fn from_str_name(name: &str) -> Option<Self> {
                Some(match name {
                    $( $name => Self::$variant, )*
                    _ => return None,
                })
            }
        }

        /// The first value.
        impl Default for $enum {
            fn default() -> Self {
                const { Self::ALL[0] }
            }
        }

        impl From<$enum> for i32 {
            fn from(value: $enum) -> Self {
                value as Self
            }
        }

        impl TryFrom<i32> for $enum {
            type Error = ::prost::UnknownEnumValue;

            fn try_from(number: i32) -> Result<Self, Self::Error> {
                match number {
                    $( $number => Ok(Self::$variant), )*
                    _ => Err(::prost::UnknownEnumValue(number)),
                }
            }
        }
    )*};
}

/// Declares `oneof`s of a message: the Rust variant, and the kind, number and name of the member.
macro_rules! oneofs {
    ($(
        $(#[$meta:meta])*
        pub enum $enum:ident of $message:literal {$(
            $(#[$member_meta:meta])*
            $member:ident($ty:ty) = $kind:ident $number:tt $name:literal
        ),* $(,)?}
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $enum {$(
            $(#[$member_meta])*
            $member($ty),
        )*}

        impl $enum {
            pub(in $crate::messages) fn encode(&self, buf: &mut impl ::bytes::BufMut) {
                match self {
                    $( Self::$member(value) => $crate::messages::encoding::$kind::encode($number, value, buf), )*
                }
            }

            /// Reads a member. One of the kind that is set is merged into it; another one replaces it.
            pub(in $crate::messages) fn merge(
                slot: &mut Option<Self>,
                tag: u32,
                wire_type: ::prost::encoding::WireType,
                buf: &mut impl ::bytes::Buf,
                ctx: ::prost::encoding::DecodeContext,
            ) -> Result<(), ::prost::DecodeError> {
                match tag {
                    $( $number => {
                        if let Some(Self::$member(value)) = slot {
                            return $crate::messages::encoding::$kind::merge(wire_type, value, buf, ctx);
                        }
                        let mut value = <$ty>::default();
                        $crate::messages::encoding::$kind::merge(wire_type, &mut value, buf, ctx)?;
                        *slot = Some(Self::$member(value));
                        Ok(())
                    } )*
                    _ => ::prost::encoding::skip_field(wire_type, tag, buf, ctx),
                }
            }

            pub(in $crate::messages) fn encoded_len(&self) -> usize {
                match self {
                    $( Self::$member(value) => $crate::messages::encoding::$kind::encoded_len($number, value), )*
                }
            }
        }

        impl $crate::messages::schema::DescribedOneOf for $enum {
            const MEMBERS: &'static [$crate::messages::schema::FieldSchema] = &[$(
                $crate::messages::schema::FieldSchema::one_of(
                    $number, $message, $name, messages!(@kind $kind Option<$ty>)
                )
            ),*];
        }
    )*};
}

pub(super) use {enumerations, messages, oneofs};
