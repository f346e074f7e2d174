//! The grammar of arguments: what is displayed reads back, and no text stops the parser.

use proptest::prelude::*;
use ptx_sim_cli::argument::{Argument, Buffer, Field, Fill, Source};
use ptx_sim_cli::dtype::{Dtype, Literal};

fn name() -> impl Strategy<Value = String> {
    "[A-Za-z_][A-Za-z0-9_]{0,8}"
}

fn file() -> impl Strategy<Value = String> {
    "[A-Za-z0-9_./ -]{1,12}\\.npy"
}

fn dtype() -> impl Strategy<Value = Dtype> {
    prop::sample::select(Dtype::ALL.to_vec())
}

/// Any value that has a text: NaN has one of all its bits.
fn literal(dtype: Dtype) -> impl Strategy<Value = Literal> {
    any::<u64>().prop_filter_map("NaN", move |bits| {
        let bits = if dtype == Dtype::Bool { bits & 1 } else { bits };
        let literal = Literal::new(dtype, bits);
        (literal.to_string() != "NaN").then_some(literal)
    })
}

fn field() -> impl Strategy<Value = Field> {
    prop_oneof![
        dtype().prop_flat_map(literal).prop_map(Field::Literal),
        (dtype().prop_filter("integers", |dtype| dtype.is_integer()), name())
            .prop_map(|(dtype, name)| Field::Length(dtype, name)),
        prop::collection::vec(any::<u8>(), 1..20).prop_map(Field::Bytes),
        (name(), prop_oneof![Just(0), any::<u64>()]).prop_map(|(name, element)| Field::Address { name, element }),
        Just(Field::Null),
    ]
}

fn fill(dtype: Dtype) -> impl Strategy<Value = Fill> {
    prop_oneof![
        Just(Fill::Zeros),
        Just(Fill::Ones),
        literal(dtype).prop_map(Fill::Full),
        Just(Fill::Iota),
        any::<Option<u64>>().prop_map(Fill::Random),
        Just(Fill::Uninit),
    ]
}

fn source() -> impl Strategy<Value = Source> {
    let shape = || prop::collection::vec(0u64..1000, 1..4);
    prop_oneof![
        file().prop_map(Source::File),
        (dtype(), shape())
            .prop_flat_map(|(dtype, shape)| fill(dtype).prop_map(move |fill| (fill, dtype, shape.clone())))
            .prop_map(|(fill, dtype, shape)| Source::Made { fill, dtype, shape }),
    ]
}

fn argument() -> impl Strategy<Value = Argument> {
    let buffer = (source(), prop::option::of(name()), prop::option::of(file()));
    prop_oneof![
        prop::collection::vec(field(), 1..5).prop_map(Argument::Value),
        buffer.prop_map(|(source, name, out)| Argument::Buffer(Buffer { source, name, out })),
    ]
}

/// Texts that are nearly arguments.
fn nearly() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "zeros",
        "full",
        "random",
        "uninit",
        "iota",
        ":",
        ":",
        ",",
        ",",
        "=",
        "f32",
        "i32",
        "u64",
        "bytes",
        "bool",
        "@",
        "x",
        "+",
        "-",
        "1",
        "2^",
        "64",
        "0x",
        "len:",
        "null",
        ".npy",
        "name=",
        "out=",
        "é",
        "nan",
        "1e99",
        "99999999999999999999",
    ]);
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_is_displayed_reads_back(argument in argument()) {
        let text = argument.to_string();
        prop_assert_eq!(text.parse::<Argument>(), Ok(argument), "{}", text);
    }

    #[test]
    fn any_text_is_an_argument_or_an_error(text in any::<String>()) {
        if let Err(error) = text.parse::<Argument>() {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn what_nearly_is_an_argument_reads_back_or_is_an_error(text in nearly()) {
        if let Ok(argument) = text.parse::<Argument>() {
            prop_assert_eq!(argument.to_string().parse::<Argument>(), Ok(argument), "{}", text);
        }
    }
}
