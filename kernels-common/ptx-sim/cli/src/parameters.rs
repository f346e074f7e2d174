//! Arguments against the parameters of a kernel, and the bytes of both.

use ptx_sim::ast::Type;
use ptx_sim::ptx::{KernelSignature, Param};

use crate::argument::{Argument, Field};
use crate::buffer::Prepared;
use crate::dtype::Dtype;
use crate::names::display_name;
use crate::pointee::pointees;

/// Why arguments do not fit a kernel.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ParameterError {
    #[error("{kernel} takes {} arguments, and {given} are given. It takes{}", .expected.len(), list(.expected))]
    Count { kernel: String, given: usize, expected: Vec<String> },
    #[error("parameter {number} of {kernel} is {is}: write {write}, not `{given}`")]
    Mismatch { kernel: String, number: usize, is: String, write: String, given: String },
    #[error("parameter {number} of {kernel} is {is}, and `{given}` makes {bytes}: write {write}")]
    Size { kernel: String, number: usize, is: String, write: String, given: String, bytes: usize },
    #[error(
        "parameter {number} of {kernel} is `{cpp}`, and `{given}` has elements of {dtype}: use {wanted}, in NumPy by \
         `.astype`; or give it by --buffer and say @NAME here, to have its bytes taken as they are"
    )]
    Elements { kernel: String, number: usize, cpp: String, given: String, dtype: Dtype, wanted: Dtype },
    #[error("`{given}`: there is no buffer `{name}`; {}", known(.buffers))]
    NoBuffer { given: String, name: String, buffers: Vec<String> },
    #[error("`{given}`: `{name}` has {len} elements")]
    NoElement { given: String, name: String, len: u64 },
    #[error("`{given}`: the {len} elements of `{name}` do not fit {dtype}")]
    Length { given: String, name: String, len: u64, dtype: Dtype },
}

fn list(expected: &[String]) -> String {
    if expected.is_empty() {
        return " none".to_owned();
    }
    expected.iter().map(|each| format!("\n    {each}")).collect()
}

fn known(buffers: &[String]) -> String {
    match buffers {
        [] => "none is given".to_owned(),
        _ => format!("the buffers are `{}`", buffers.join("`, `")),
    }
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// An address.
    Pointer,
    /// An address or an integer: the PTX does not say.
    PointerOrInteger,
    /// A float of this many bytes.
    Float,
    /// An integer or a truth value.
    Integer,
    /// Any value of this size.
    Bits,
}

fn takes(signature: &KernelSignature, param: &Param) -> Takes {
    // An array of one element is one too: that is how a structure of one byte is declared.
    let single = param.size == element_size(param.ty);
    match param.ty {
        _ if param.pointer => Takes::Pointer,
        _ if !single => Takes::Bits,
        Type::U64 | Type::S64 | Type::B64 if !signature.marks_pointers => Takes::PointerOrInteger,
        Type::F16 | Type::BF16 | Type::F32 | Type::F64 => Takes::Float,
        Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::S8 | Type::S16 | Type::S32 | Type::S64 => Takes::Integer,
        _ => Takes::Bits,
    }
}

fn element_size(ty: Type) -> usize {
    match ty {
        Type::B8 | Type::U8 | Type::S8 | Type::Pred => 1,
        Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::BF16 => 2,
        Type::B32 | Type::U32 | Type::S32 | Type::F32 | Type::F16x2 | Type::BF16x2 => 4,
        Type::B64 | Type::U64 | Type::S64 | Type::F64 => 8,
        Type::B128 => 16,
    }
}

/// The type of a parameter as PTX writes it: `.f32`, or `.b8[24]` for an array.
pub(crate) fn ptx_type(param: &Param) -> String {
    let name = format!(".{:?}", param.ty).to_lowercase();
    match param.size / element_size(param.ty) {
        1 if param.size == element_size(param.ty) => name,
        elements => format!("{name}[{elements}]"),
    }
}

/// What to write for a parameter.
pub(crate) fn advice(signature: &KernelSignature, param: &Param) -> String {
    let buffer = "a buffer such as zeros:f32:1000 or x.npy, @NAME or null";
    let bits = 8 * param.size;
    match takes(signature, param) {
        Takes::Pointer => buffer.to_owned(),
        Takes::PointerOrInteger => format!("u64=VALUE, or for a pointer {buffer}"),
        Takes::Float => format!("f{bits}=VALUE"),
        Takes::Integer if param.size == 1 => "i8=VALUE, u8=VALUE or bool=VALUE".to_owned(),
        Takes::Integer => format!("i{bits}=VALUE or u{bits}=VALUE"),
        Takes::Bits if param.size == 1 => "i8=VALUE, u8=VALUE, bool=VALUE or bytes=HEX".to_owned(),
        Takes::Bits if param.size == 2 => "f16=VALUE, bf16=VALUE, i16=VALUE, u16=VALUE or bytes=HEX".to_owned(),
        Takes::Bits if param.size == 4 => "f32=VALUE, i32=VALUE, fields of 4 bytes or bytes=HEX".to_owned(),
        Takes::Bits => format!("the fields of {} bytes such as i32=1,f32=2.5, or bytes=HEX", param.size),
    }
}

/// A parameter in words, such as `a pointer (.u64)`.
pub(crate) fn description(signature: &KernelSignature, param: &Param) -> String {
    let ty = ptx_type(param);
    match takes(signature, param) {
        Takes::Pointer => format!("a pointer ({ty})"),
        Takes::PointerOrInteger => format!("an integer or a pointer ({ty})"),
        Takes::Float => format!("a float of {} bytes ({ty})", param.size),
        Takes::Integer => format!("an integer of {} bytes ({ty})", param.size),
        Takes::Bits => format!("{} bytes ({ty})", param.size),
    }
}

/// Whether a parameter takes an argument, as far as kinds go: sizes are compared later.
fn fits(takes: Takes, argument: &Argument) -> bool {
    let fields = match argument {
        Argument::Buffer(_) => return matches!(takes, Takes::Pointer | Takes::PointerOrInteger),
        Argument::Value(fields) => fields.as_slice(),
    };
    let integer = matches!(takes, Takes::Integer | Takes::PointerOrInteger | Takes::Bits);
    match fields {
        [Field::Bytes(_)] => true,
        [Field::Null | Field::Address { .. }] => {
            matches!(takes, Takes::Pointer | Takes::PointerOrInteger | Takes::Bits)
        }
        [Field::Literal(literal)] if literal.dtype().is_float() => matches!(takes, Takes::Float | Takes::Bits),
        [Field::Literal(_) | Field::Length(..)] => integer,
        _ => takes == Takes::Bits,
    }
}

/// Bytes that a field takes, which is its alignment too; bytes as they are have none.
fn layout(field: &Field) -> (usize, usize) {
    match field {
        Field::Literal(literal) => (literal.dtype().size(), literal.dtype().size()),
        Field::Length(dtype, _) => (dtype.size(), dtype.size()),
        Field::Bytes(bytes) => (bytes.len(), 1),
        Field::Address { .. } | Field::Null => (8, 8),
    }
}

/// Where fields lie, as C and C++ lay out a structure, and its size.
fn offsets(fields: &[Field]) -> (Vec<usize>, usize) {
    let (mut end, mut most) = (0usize, 1);
    let offsets = fields
        .iter()
        .map(|field| {
            let (size, align) = layout(field);
            let start = end.next_multiple_of(align);
            end = start + size;
            most = most.max(align);
            start
        })
        .collect();
    (offsets, end.next_multiple_of(most))
}

/// Compares arguments with the parameters of a kernel. Their own buffers come first in `buffers`, in order.
///
/// # Errors
/// The first one that does not fit.
pub(crate) fn check(
    signature: &KernelSignature,
    arguments: &[Argument],
    buffers: &[Prepared],
) -> Result<(), ParameterError> {
    let kernel = || display_name(&signature.name);
    let params = &signature.params;
    if arguments.len() != params.len() {
        let expected =
            params.iter().map(|param| format!("{}: {}", description(signature, param), advice(signature, param)));
        return Err(ParameterError::Count { kernel: kernel(), given: arguments.len(), expected: expected.collect() });
    }
    let pointees = pointees(&kernel());
    let mut own = buffers.iter();
    for ((number, param), argument) in (1..).zip(params).zip(arguments) {
        let is = || description(signature, param);
        let (write, given) = (|| advice(signature, param), || argument.to_string());
        if !fits(takes(signature, param), argument) {
            return Err(ParameterError::Mismatch {
                kernel: kernel(),
                number,
                is: is(),
                write: write(),
                given: given(),
            });
        }
        let bytes = match argument {
            Argument::Buffer(_) => 8,
            Argument::Value(fields) => offsets(fields).1,
        };
        if bytes != param.size {
            let (is, write, given) = (is(), write(), given());
            return Err(ParameterError::Size { kernel: kernel(), number, is, write, given, bytes });
        }
        match argument {
            Argument::Value(fields) => fields.iter().try_for_each(|field| refer(field, buffers))?,
            Argument::Buffer(_) => {
                if let Some(Prepared { dtype, .. }) = own.next()
                    && let Some(Some(pointee)) = pointees.get(number - 1)
                    && !pointee.allows(*dtype)
                {
                    let (kernel, given, cpp) = (kernel(), given(), pointee.cpp.clone());
                    let (dtype, wanted) = (*dtype, pointee.dtype());
                    return Err(ParameterError::Elements { kernel, number, cpp, given, dtype, wanted });
                }
            }
        }
    }
    Ok(())
}

/// Checks that what a field refers to is there.
fn refer(field: &Field, buffers: &[Prepared]) -> Result<(), ParameterError> {
    let (Field::Length(_, name) | Field::Address { name, .. }) = field else { return Ok(()) };
    let given = || field.to_string();
    let Some(buffer) = buffers.iter().find(|buffer| buffer.name == *name) else {
        let buffers = buffers.iter().map(|buffer| buffer.name.clone()).collect();
        return Err(ParameterError::NoBuffer { given: given(), name: name.clone(), buffers });
    };
    let (name, len) = (name.clone(), buffer.len());
    match *field {
        // The end of a buffer is an address that programs have.
        Field::Address { element, .. } if element > len => Err(ParameterError::NoElement { given: given(), name, len }),
        Field::Length(dtype, _) if dtype.of_integer(len.into()).is_none() => {
            Err(ParameterError::Length { given: given(), name, len, dtype })
        }
        _ => Ok(()),
    }
}

/// The parameter block of arguments that were [checked](check). Their own buffers come first in `buffers`, in order,
/// and `addresses` has the address of each buffer.
pub(crate) fn block(
    signature: &KernelSignature,
    arguments: &[Argument],
    buffers: &[Prepared],
    addresses: &[u64],
) -> Vec<u8> {
    let size = signature.params.last().map_or(0, |param| param.offset + param.size);
    let mut block = vec![0; size];
    let mut own = addresses.iter();
    for (param, argument) in signature.params.iter().zip(arguments) {
        let mut put = |offset: usize, bytes: &[u8]| {
            block[param.offset + offset..][..bytes.len()].copy_from_slice(bytes);
        };
        match argument {
            Argument::Buffer(_) => put(0, &own.next().copied().unwrap_or_default().to_le_bytes()),
            Argument::Value(fields) => {
                for (field, offset) in fields.iter().zip(offsets(fields).0) {
                    put(offset, &bytes(field, buffers, addresses));
                }
            }
        }
    }
    block
}

fn bytes(field: &Field, buffers: &[Prepared], addresses: &[u64]) -> Vec<u8> {
    let find = |name: &str| buffers.iter().zip(addresses).find(|(buffer, _)| buffer.name == name);
    match field {
        Field::Literal(literal) => literal.to_bytes(),
        Field::Bytes(bytes) => bytes.clone(),
        Field::Null => vec![0; 8],
        Field::Length(dtype, name) => {
            let len = find(name).map_or(0, |(buffer, _)| buffer.len());
            len.to_le_bytes()[..dtype.size()].to_vec()
        }
        Field::Address { name, element } => {
            let address = find(name).map_or(0, |(buffer, address)| address + element * buffer.dtype.size() as u64);
            address.to_le_bytes().to_vec()
        }
    }
}

#[cfg(test)]
mod tests {
    use ptx_sim::ptx::Module;

    use super::*;
    use crate::buffer::Contents;

    fn buffer(name: &str, len: u64) -> Prepared {
        Prepared { name: name.into(), dtype: Dtype::F32, shape: vec![len], contents: Contents::Nothing, out: None }
    }

    fn arguments(texts: &[&str]) -> Vec<Argument> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn refused(params: &str, texts: &[&str]) -> String {
        let module = module(params);
        check(module.kernel("f").unwrap(), &arguments(texts), &[buffer("x", 300)]).unwrap_err().to_string()
    }

    fn module(params: &str) -> Module {
        let text = format!(".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry f({params}) {{ ret; }}");
        Module::parse("f.ptx", &text).unwrap()
    }

    const POINTER: &str = ".param .u64 .ptr .global .align 4 p";

    #[test]
    fn what_does_not_fit_is_named_with_number_type_and_remedy() {
        for (params, texts, says) in [
            (
                ".param .f32 a",
                vec!["zeros:f32:4"],
                "parameter 1 of f is a float of 4 bytes (.f32): write f32=VALUE, not \
              `zeros:f32:4`",
            ),
            (".param .f32 a", vec!["i32=1"], "write f32=VALUE, not `i32=1`"),
            (".param .f32 a", vec!["f64=1"], "is a float of 4 bytes (.f32), and `f64=1.0` makes 8: write f32=VALUE"),
            (".param .f64 a", vec!["null"], "write f64=VALUE, not `null`"),
            (
                ".param .u32 a",
                vec!["f32=1"],
                "an integer of 4 bytes (.u32): write i32=VALUE or u32=VALUE, not `f32=1.0`",
            ),
            (".param .u32 a", vec!["u64=1"], "(.u32), and `u64=1` makes 8: write i32=VALUE"),
            (".param .u8 a", vec!["i32=1"], "and `i32=1` makes 4: write i8=VALUE, u8=VALUE or bool=VALUE"),
            (".param .u64 a", vec!["f64=1"], "an integer or a pointer (.u64): write u64=VALUE, or for a pointer"),
            (
                POINTER,
                vec!["u64=0"],
                "parameter 1 of f is a pointer (.u64): write a buffer such as zeros:f32:1000 or x.npy",
            ),
            (".param .align 4 .b8 s[12]", vec!["i32=1,f64=2"], "is 12 bytes (.b8[12]), and `i32=1,f64=2.0` makes 16"),
            (".param .align 4 .b8 s[12]", vec!["x.npy"], "write the fields of 12 bytes such as"),
            (
                ".param .u32 a, .param .f32 b",
                vec!["i32=1"],
                "f takes 2 arguments, and 1 are given. It takes\n    an \
              integer of 4 bytes (.u32): i32=VALUE or u32=VALUE\n    a float",
            ),
            ("", vec!["i32=1"], "f takes 0 arguments, and 1 are given. It takes none"),
            (".param .u64 p", vec!["@y"], "`@y`: there is no buffer `y`; the buffers are `x`"),
            (".param .u64 p", vec!["@x+301"], "`@x+301`: `x` has 300 elements"),
            (".param .u8 n", vec!["u8=len:x"], "`u8=len:x`: the 300 elements of `x` do not fit u8"),
        ] {
            let message = refused(params, &texts);
            assert!(message.contains(says), "{params} {texts:?}: {message}");
        }
        // A kernel that says which parameters are pointers says that the others are none.
        let message = refused(&format!("{POINTER}, .param .u64 n"), &["null", "x.npy"]);
        assert!(message.contains("parameter 2 of f is an integer of 8 bytes (.u64)"), "{message}");
    }

    #[test]
    fn half_precision_and_one_byte_are_bits() {
        for (params, text) in [
            (".param .align 2 .b8 h[2]", "f16=1"),
            (".param .align 2 .b8 h[2]", "bf16=1"),
            (".param .align 1 .b8 c[1]", "i8=-1"),
            (".param .b32 w", "f32=1"),
            (".param .b32 w", "u16=1,u16=2"),
            (".param .b64 w", "i64=1"),
            (".param .u8 b", "bool=true"),
        ] {
            let module = module(params);
            let signature = module.kernel("f").unwrap();
            check(signature, &arguments(&[text]), &[]).unwrap_or_else(|error| panic!("{params} {text}: {error}"));
        }
        assert!(refused(".param .align 2 .b8 h[2]", &["f32=1"]).contains("write f16=VALUE, bf16=VALUE"));
        assert!(refused(".param .b32 w", &["f64=1"]).contains("write f32=VALUE, i32=VALUE, fields of 4 bytes"));
    }

    #[test]
    fn blocks_are_laid_out_as_the_parameters_are() {
        let params = ".param .u8 a, .param .u64 p, .param .align 8 .b8 s[24], .param .u64 q, .param .u32 n";
        let module = module(params);
        let signature = module.kernel("f").unwrap();
        let texts = ["i8=-1", "zeros:f32:4", "u8=7,f64=1,@x+2", "bytes=0102030405060708", "u32=len:x"];
        let arguments = arguments(&texts);
        let buffers = [buffer("arg2", 4), buffer("x", 300)];
        check(signature, &arguments, &buffers).unwrap();
        let block = block(signature, &arguments, &buffers, &[0x1000, 0x2000]);
        let expected = [
            &[0xff, 0, 0, 0, 0, 0, 0, 0][..],
            &0x1000u64.to_le_bytes(),
            &[7, 0, 0, 0, 0, 0, 0, 0],
            &1f64.to_le_bytes(),
            &0x2008u64.to_le_bytes(),
            &[1, 2, 3, 4, 5, 6, 7, 8],
            &300u32.to_le_bytes(),
        ];
        assert_eq!(block, expected.concat());
    }
}
