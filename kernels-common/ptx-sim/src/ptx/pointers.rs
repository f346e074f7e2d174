//! Which parameters of a kernel are pointers, where its header does not say: compilers mark pointers with `.ptr` for
//! some targets only.

use super::Param;
use super::lexer::{Kind, Lexer, Place, Token};

/// A parameter whose value was loaded into a register.
struct Loaded<'a> {
    register: &'a str,
    /// Index of the parameter.
    param: usize,
    /// The register is converted to a global address.
    converted: bool,
}

/// Marks the parameters that the body in `text` loads into a register which it converts by `cvta.to.global`.
///
/// The text is read word by word, not parsed, so this costs a fraction of what loading the kernel does. A register that
/// is written in more than one place may hold something else at the conversion, and does not count. What the body does
/// not tell in this plain way is not found; what is found is a pointer. A body that is not well formed is for the
/// parser to refuse.
pub(super) fn find_pointers(text: &str, body: Place, params: &mut [Param]) {
    let mut loaded = Vec::new();
    let mut written = Vec::new();
    let mut lexer = Lexer::resume(text, body);
    let mut depth = 0u32;
    let mut expected = Expected::Opcode;
    while let Ok(token) = lexer.next() {
        let word = token.kind == Kind::Word;
        if word && expected != Expected::Opcode {
            written.push(token.text);
            if expected == Expected::Destination {
                expected = Expected::Opcode;
            }
            continue;
        }
        match (token.kind, expected) {
            // Registers have no dot, and special registers start with a percent sign.
            (Kind::Word, _) if token.text.contains('.') && !token.text.starts_with('%') => {
                expected = Expected::Destination;
                if token.text.starts_with("ld.param.") {
                    loaded.extend(load(lexer, params));
                } else if token.text.starts_with("cvta.to.global.") {
                    let source = second_register(lexer);
                    for load in loaded.iter_mut().filter(|load: &&mut Loaded| Some(load.register) == source) {
                        load.converted = true;
                    }
                }
            }
            (Kind::End, _) => break,
            (Kind::Punctuation, Expected::Destination) if token.text == "{" => expected = Expected::Vector,
            (Kind::Punctuation, Expected::Vector) if token.text == "," => {}
            (Kind::Punctuation, Expected::Vector) if token.text == "}" => expected = Expected::Opcode,
            (Kind::Punctuation, _) if token.text == "{" => depth += 1,
            (Kind::Punctuation, _) if token.text == "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            _ => expected = Expected::Opcode,
        }
    }
    for load in loaded.iter().filter(|load| load.converted) {
        let writes = written.iter().filter(|&&register| register == load.register).count();
        params[load.param].pointer |= writes == 1;
    }
}

/// What the next word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// Maybe an opcode.
    Opcode,
    /// The first operand: the register that the instruction writes, if it writes one.
    Destination,
    /// A part of a vector that is the first operand.
    Vector,
}

/// The register and the parameter of `ld.param.u64 %rd1, [param];`, if it is one of `params` as a whole.
fn load<'a>(mut lexer: Lexer<'a>, params: &[Param]) -> Option<Loaded<'a>> {
    let register = word(&mut lexer)?;
    punctuation(&mut lexer, ",")?;
    punctuation(&mut lexer, "[")?;
    let name = word(&mut lexer)?;
    punctuation(&mut lexer, "]")?;
    let param = params.iter().position(|param| &*param.name == name && param.size == 8)?;
    Some(Loaded { register, param, converted: false })
}

/// The second operand of `cvta.to.global.u64 %rd2, %rd1;`.
fn second_register<'a>(mut lexer: Lexer<'a>) -> Option<&'a str> {
    word(&mut lexer)?;
    punctuation(&mut lexer, ",")?;
    word(&mut lexer)
}

fn word<'a>(lexer: &mut Lexer<'a>) -> Option<&'a str> {
    lexer.next().ok().filter(|token: &Token<'a>| token.kind == Kind::Word).map(|token| token.text)
}

fn punctuation(lexer: &mut Lexer<'_>, punctuation: &str) -> Option<()> {
    lexer.next().ok().filter(|token| token.is(punctuation)).map(drop)
}
