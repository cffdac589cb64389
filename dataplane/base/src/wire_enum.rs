//! Enums whose values are bytes on the wire, and words in reports.

/// Declares an enum of one byte on the wire: `/// Doc. Name, "field", { /// Doc. Variant = 1 => "word", }`.
/// The word may be left out where no report names the values.
#[macro_export]
macro_rules! wire_enum {
    ($(#[$meta:meta])* $name:ident, $field:literal,
     { $($(#[$vmeta:meta])* $variant:ident = $value:literal $(=> $word:literal)?),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vmeta])* $variant = $value),+ }

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

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }
    };
    (@words $name:ident, $($variant:ident),+) => {};
}
