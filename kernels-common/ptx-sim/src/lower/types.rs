//! Properties of the PTX types.

use crate::ast::Type;

/// Bytes of a value in memory.
pub(crate) fn bytes(ty: Type) -> u32 {
    match ty {
        Type::B8 | Type::U8 | Type::S8 | Type::Pred => 1,
        Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::BF16 => 2,
        Type::B32 | Type::U32 | Type::S32 | Type::F32 | Type::F16x2 | Type::BF16x2 => 4,
        Type::B64 | Type::U64 | Type::S64 | Type::F64 => 8,
        Type::B128 => 16,
    }
}

/// Whether registers of the type have 64 bits.
pub(crate) fn is_wide(ty: Type) -> bool {
    bytes(ty) == 8
}

pub(crate) fn is_signed(ty: Type) -> bool {
    matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64)
}

pub(crate) fn is_integer(ty: Type) -> bool {
    matches!(ty, Type::U8 | Type::U16 | Type::U32 | Type::U64) || is_signed(ty)
}

/// One of the floating types that `cvt` and arithmetic know, packed ones excepted.
pub(crate) fn is_float(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::BF16 | Type::F32 | Type::F64)
}

/// The type that a part of an opcode names.
pub(crate) fn parse(text: &str) -> Option<Type> {
    Some(match text {
        "b8" => Type::B8,
        "b16" => Type::B16,
        "b32" => Type::B32,
        "b64" => Type::B64,
        "b128" => Type::B128,
        "u8" => Type::U8,
        "u16" => Type::U16,
        "u32" => Type::U32,
        "u64" => Type::U64,
        "s8" => Type::S8,
        "s16" => Type::S16,
        "s32" => Type::S32,
        "s64" => Type::S64,
        "f16" => Type::F16,
        "f16x2" => Type::F16x2,
        "bf16" => Type::BF16,
        "bf16x2" => Type::BF16x2,
        "f32" => Type::F32,
        "f64" => Type::F64,
        "pred" => Type::Pred,
        _ => return None,
    })
}
