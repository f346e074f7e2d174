//! What the enums of variants of all kernel crates have in common.

/// Makes an enum of variants printable and readable by name. It must have `ALL`, an array of all variants, and
/// `const fn name(self) -> &'static str`.
///
/// ```
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum Variant { Plain, Packets }
/// impl Variant {
///     const ALL: [Variant; 2] = [Variant::Plain, Variant::Packets];
///     const fn name(self) -> &'static str {
///         match self { Variant::Plain => "plain", Variant::Packets => "packets" }
///     }
/// }
/// kernels_common::named_variants!(Variant);
///
/// assert_eq!("packets".parse(), Ok(Variant::Packets));
/// assert_eq!("racy".parse::<Variant>(), Err("no variant `racy`: there are plain, packets".to_owned()));
/// ```
#[macro_export]
macro_rules! named_variants {
    ($variant:ty) => {
        impl ::std::fmt::Display for $variant {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::std::str::FromStr for $variant {
            type Err = ::std::string::String;

            fn from_str(name: &str) -> ::std::result::Result<Self, Self::Err> {
                let known = <$variant>::ALL.into_iter().find(|variant| variant.name() == name);
                known.ok_or_else(|| {
                    ::std::format!(
                        "no variant `{name}`: there are {}",
                        <$variant>::ALL.map(<$variant>::name).join(", ")
                    )
                })
            }
        }
    };
}
