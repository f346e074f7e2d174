//! The parser through its public face: what it makes of a text, what it refuses and where, and that nothing makes it
//! panic.

mod bodies;
mod errors;
mod limits;
mod modules;
mod nvcc;
mod random;
mod select;

use std::sync::Arc;

use ptx_sim::ast::Function;
use ptx_sim::ptx::Module;

/// How every module here starts: four lines.
const HEAD: &str = ".version 6.3\n.target sm_75\n.address_size 64\n\n";

/// A module of the directives `text`.
fn module(text: &str) -> Module {
    Module::parse("m.ptx", &format!("{HEAD}{text}")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The entry whose body is `body`, beside a few things that bodies can name.
fn function(body: &str) -> Arc<Function> {
    let module = module(&format!(
        ".file 1 \"first.cu\"
         .file 2 \"second.h\"
         .global .align 4 .b8 table[16];
         .func (.param .b32 result) callee(.param .b32 argument) {{ ret; }}
         .entry f(.param .u64 pointer, .param .u32 n) {{
             .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
             {body}
         }}"
    ));
    module.function("f").unwrap_or_else(|error| panic!("{error}\n{body}")).clone()
}
