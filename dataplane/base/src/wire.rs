//! Messages as they are declared: one list of fields, or of kinds with their fields, gives a type, its bytes
//! and its parser. Bytes of a message are in network order.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::RangeInclusive;

use crate::codec::{CodecError, Reader, Writer};

pub trait WireField: Sized {
    fn write(&self, w: &mut Writer);

    /// Reads the field; an error calls it `field`.
    fn read(r: &mut Reader<'_>, field: &'static str) -> Result<Self, CodecError>;
}

macro_rules! numbers {
    ($($number:ident),+) => {$(
        impl WireField for $number {
            fn write(&self, w: &mut Writer) {
                w.$number(*self);
            }

            fn read(r: &mut Reader<'_>, field: &'static str) -> Result<$number, CodecError> {
                r.$number(field)
            }
        }
    )+};
}
numbers!(u8, u16, u32, u64);

impl WireField for bool {
    fn write(&self, w: &mut Writer) {
        w.u8((*self).into());
    }

    fn read(r: &mut Reader<'_>, field: &'static str) -> Result<bool, CodecError> {
        r.flag(field)
    }
}

/// A u8 length, and as many bytes of UTF-8.
impl WireField for String {
    fn write(&self, w: &mut Writer) {
        w.text(self);
    }

    fn read(r: &mut Reader<'_>, field: &'static str) -> Result<String, CodecError> {
        r.text(field).map(str::to_owned)
    }
}

impl<const N: usize> WireField for [u8; N] {
    fn write(&self, w: &mut Writer) {
        w.bytes(self);
    }

    fn read(r: &mut Reader<'_>, field: &'static str) -> Result<[u8; N], CodecError> {
        r.array(field)
    }
}

/// Values up to the end of the message.
impl<T: WireField> WireField for Vec<T> {
    fn write(&self, w: &mut Writer) {
        self.iter().for_each(|value| value.write(w));
    }

    fn read(r: &mut Reader<'_>, field: &'static str) -> Result<Vec<T>, CodecError> {
        std::iter::from_fn(|| (!r.is_empty()).then(|| T::read(r, field))).collect()
    }
}

/// An IPv4 address and a port.
impl WireField for SocketAddrV4 {
    fn write(&self, w: &mut Writer) {
        w.bytes(&self.ip().octets()).u16(self.port());
    }

    fn read(r: &mut Reader<'_>, field: &'static str) -> Result<SocketAddrV4, CodecError> {
        Ok(SocketAddrV4::new(Ipv4Addr::from(r.u32(field)?), r.u16(field)?))
    }
}

/// A text for people, up to the end of the message.
pub mod last_text {
    use super::{CodecError, Reader, Writer};

    /// Bytes of the longest text; a longer one is cut.
    pub const MOST: usize = 512;

    pub fn write(text: &str, w: &mut Writer) {
        w.rest_text(text, MOST);
    }

    pub fn read(r: &mut Reader<'_>, field: &'static str) -> Result<String, CodecError> {
        r.rest_text(MOST, field).map(str::to_owned)
    }
}

#[doc(hidden)]
pub fn within<T: PartialOrd + Into<u64>>(
    value: T, range: &RangeInclusive<T>, field: &'static str,
) -> Result<T, CodecError> {
    match range.contains(&value) {
        true => Ok(value),
        false => Err(CodecError::value(field, value)),
    }
}

/// Makes `Name(number)` a field of messages.
#[macro_export]
macro_rules! wire_number {
    ($($name:ident),+) => {$(
        impl $crate::wire::WireField for $name {
            fn write(&self, w: &mut $crate::codec::Writer) {
                $crate::wire::WireField::write(&self.0, w);
            }

            fn read(
                r: &mut $crate::codec::Reader<'_>, field: &'static str,
            ) -> Result<$name, $crate::CodecError> {
                $crate::wire::WireField::read(r, field).map($name)
            }
        }
    )+};
}

/// Declares a struct that is a part of a message: `/// Doc. Name, "prefix.", { /// Doc. field: type, }`.
/// Errors name a field by the prefix and its name. `field: type = range` bounds a number; `field: type =>
/// form` is written and read by the functions `form::write` and `form::read`.
#[macro_export]
macro_rules! wire_struct {
    ($(#[$meta:meta])* $name:ident, $prefix:literal, {
        $($(#[$fmeta:meta])* $field:ident: $type:ty $(= $range:expr)? $(=> $form:ident)?),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name { $($(#[$fmeta])* pub $field: $type),+ }

        impl $crate::wire::WireField for $name {
            fn write(&self, w: &mut $crate::codec::Writer) {
                $($crate::wire_struct!(@write w, &self.$field $(, $form)?);)+
            }

            fn read(r: &mut $crate::codec::Reader<'_>, _: &'static str) -> Result<$name, $crate::CodecError> {
                Ok($name { $(
                    $field: $crate::wire_struct!(
                        @read r, concat!($prefix, stringify!($field)) $(, in $range)? $(, by $form)?
                    ),
                )+ })
            }
        }
    };
    (@write $w:ident, $value:expr) => { $crate::wire::WireField::write($value, $w) };
    (@write $w:ident, $value:expr, $form:ident) => { $form::write($value, $w) };
    (@read $r:ident, $field:expr) => { $crate::wire::WireField::read($r, $field)? };
    (@read $r:ident, $field:expr, in $range:expr) => {
        $crate::wire::within($crate::wire::WireField::read($r, $field)?, &$range, $field)?
    };
    (@read $r:ident, $field:expr, by $form:ident) => { $form::read($r, $field)? };
}

/// Declares an enum of messages: `/// Doc. Name, "field of the kind", "message", {` and for each its
/// `/// Doc. Kind = number => "prefix." { fields as in wire_struct! },`, or `Kind(name: Type) = number,`, or
/// `Kind = number,`. "message" is the name of what has bytes too many.
#[macro_export]
macro_rules! wire_frames {
    ($(#[$meta:meta])* $name:ident, $kind_field:literal, $whole:literal, {
        $($(#[$vmeta:meta])* $variant:ident $(($inner:ident: $inner_type:ty))? = $number:expr
            $(=> $prefix:literal {
                $($(#[$fmeta:meta])* $field:ident: $type:ty $(= $range:expr)? $(=> $form:ident)?),+ $(,)?
            })?
        ),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name {
            $($(#[$vmeta])* $variant $(($inner_type))? $({ $($(#[$fmeta])* $field: $type),+ })?),+
        }

        impl $name {
            /// The number of the message's kind.
            pub fn number(&self) -> u8 {
                match self { $($name::$variant { .. } => $number),+ }
            }

            /// Appends all but the number.
            pub fn write_body(&self, w: &mut $crate::codec::Writer) {
                match self {$(
                    $name::$variant $(($inner))? $({ $($field),+ })? => {
                        $($crate::wire::WireField::write($inner, w);)?
                        $($($crate::wire_struct!(@write w, $field $(, $form)?);)+)?
                    }
                )+}
            }

            /// Appends the message as an envelope. Parts that are too long are cut.
            pub fn encode_into(&self, out: &mut impl Extend<u8>) {
                let mut body = $crate::codec::Writer::default();
                self.write_body(&mut body);
                $crate::codec::Envelope::seal(self.number(), &body, out);
            }

            /// The message of this kind with this body.
            pub fn parse_body(kind: u8, body: &[u8]) -> Result<$name, $crate::CodecError> {
                let r = &mut $crate::codec::Reader::new(body);
                let message = match kind {
                    $(number if number == $number => $name::$variant
                        $((<$inner_type as $crate::wire::WireField>::read(r, stringify!($inner))?))?
                        $({$(
                            $field: $crate::wire_struct!(
                                @read r, concat!($prefix, stringify!($field)) $(, in $range)? $(, by $form)?
                            )
                        ),+})?,
                    )+
                    _ => return Err($crate::CodecError::value($kind_field, kind)),
                };
                r.end($whole)?;
                Ok(message)
            }
        }
    };
}

/// Declares an enum of one byte on the wire: `/// Doc. Name, "field", { /// Doc. Variant = 1 => "word", }`.
/// The word stands for the value in JSON and in reports; it may be left out where neither has the values.
#[macro_export]
macro_rules! wire_enum {
    ($(#[$meta:meta])* $name:ident, $field:literal,
     { $($(#[$vmeta:meta])* $variant:ident = $value:literal $(=> $word:literal)?),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, $crate::serde::Serialize, $crate::serde::Deserialize,
        )]
        #[serde(crate = "groupflow_base::serde")]
        #[repr(u8)]
        pub enum $name { $($(#[$vmeta])* $(#[serde(rename = $word)])? $variant = $value),+ }

        impl $name {
            /// Every value, as declared.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            pub fn parse(value: u8) -> Result<$name, $crate::CodecError> {
                match value {
                    $($value => Ok($name::$variant),)+
                    _ => Err($crate::CodecError::value($field, value)),
                }
            }
        }

        impl $crate::wire::WireField for $name {
            fn write(&self, w: &mut $crate::codec::Writer) {
                w.u8(*self as u8);
            }

            /// The enum has its name as a field already.
            fn read(r: &mut $crate::codec::Reader<'_>, _: &'static str) -> Result<$name, $crate::CodecError> {
                $name::parse(r.u8($field)?)
            }
        }

        $crate::wire_enum!(@words $name, $($variant $($word)?),+);
    };
    (@words $name:ident, $($variant:ident $word:literal),+) => {
        impl $name {
            /// The value's word in reports.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }
    };
    (@words $name:ident, $($variant:ident),+) => {};
}
