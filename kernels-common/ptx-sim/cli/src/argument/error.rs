//! What can be wrong with the text of an argument.

use crate::dtype::{Dtype, ValueError};

/// Why a text is no argument, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the texts say it")]
pub enum ArgumentError {
    #[error("it is empty: write TYPE=VALUE, a buffer such as zeros:f32:1000, FILE.npy, @NAME or null")]
    Empty,
    #[error(
        "`{0}` is neither a value (TYPE=VALUE such as f32=2.5, bytes=HEX, @NAME, null) nor a buffer (FILE.npy, or one \
         of zeros, ones, full, iota, random and uninit such as zeros:f32:1000)"
    )]
    Unrecognised(String),
    #[error("`{0}` has no type: write TYPE=VALUE, such as i32={0} or f32={0}")]
    Untyped(String),
    #[error("there is no type `{0}`; the types are {types}", types = Dtype::ALL.map(Dtype::name).join(", "))]
    UnknownType(String),
    #[error(
        "`{0}` fills no buffer; what does is zeros, ones, full, iota, random and uninit, written as in zeros:f32:1000"
    )]
    UnknownFill(String),
    #[error(transparent)]
    Value(#[from] ValueError),
    #[error("`{text}` is no shape: write a number of elements such as 1000 or 2^20, or dimensions such as 64x32")]
    BadShape { text: String },
    #[error("a shape of {text} has more bytes than 64 bits count")]
    TooLarge { text: String },
    #[error("`{keyword}` lacks its {missing}: write {example}")]
    Incomplete { keyword: &'static str, missing: &'static str, example: &'static str },
    #[error("`{rest}` is too much after {keyword}: write {example}")]
    Surplus { keyword: &'static str, rest: String, example: &'static str },
    #[error("`{text}` is no seed: write a number from 0 to 2^64-1, as in random:f32:1000:7")]
    BadSeed { text: String },
    #[error("`{text}` is no name: write letters, digits and `_`, and no digit first")]
    BadName { text: String },
    #[error("`{text}` are no bytes: write two hexadecimal digits for each, as in bytes=0000803f")]
    BadBytes { text: String },
    #[error("a length is an integer, and {dtype} is none: write i32=len:{name} or u64=len:{name}")]
    LengthType { dtype: Dtype, name: String },
    #[error("`{text}` is no element: write @NAME for the start of a buffer, @NAME+5 for its element 5")]
    BadElement { text: String },
    #[error("`{text}` follows a buffer, after which only name=NAME and out=FILE.npy can come")]
    UnknownModifier { text: String },
    #[error("`{key}=` is there twice")]
    Twice { key: &'static str },
    #[error("`{text}` is a value's, and only buffers have a name and a file to write")]
    ModifierOfValue { text: String },
    #[error("`{text}` is a buffer among the fields of a structure: give it by --buffer, and its address as @NAME")]
    BufferInValue { text: String },
    #[error("`{text}` is no file to write: name one that ends in .npy")]
    BadOutput { text: String },
}
