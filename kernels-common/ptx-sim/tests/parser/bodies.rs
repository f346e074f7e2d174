//! What a function body becomes.

use ptx_sim::ast::{Guard, Operand, RegId, Space, Type};

use super::{function, module};

/// The operands of the last instruction of `body`, which other instructions may precede.
fn operands(body: &str) -> Vec<Operand> {
    function(body).body.last().unwrap().operands.clone()
}

fn reg(index: u32) -> Operand {
    Operand::Reg(RegId(index))
}

fn symbol(name: &str) -> Operand {
    Operand::Symbol(name.into())
}

fn address(base: Operand, offset: i64) -> Operand {
    Operand::Address { base: Box::new(base), offset }
}

#[test]
fn operands_of_every_kind() {
    for (instruction, expected) in [
        ("add.s32 %r1, %r2, -5;", vec![reg(0), reg(1), Operand::Int(-5)]),
        ("mov.u32 %r1, %tid.x;", vec![reg(0), Operand::Special("%tid.x".into())]),
        ("mov.u32 %r1, WARP_SZ;", vec![reg(0), Operand::Special("WARP_SZ".into())]),
        ("mov.f32 %f1, 0f3F800000;", vec![reg(0), Operand::F32(0x3f80_0000)]),
        ("mov.f32 %f1, -1.5;", vec![reg(0), Operand::F64((-1.5f64).to_bits())]),
        ("mov.u32 %r1, (1 << 4) + 017;", vec![reg(0), Operand::Int(31)]),
        ("mov.u32 %r1, !0;", vec![reg(0), Operand::Int(1)]),
        ("mov.u64 %rd1, table;", vec![reg(0), symbol("table")]),
        ("mov.u64 %rd1, table+4;", vec![reg(0), address(symbol("table"), 4)]),
        ("mov.u64 %rd1, callee;", vec![reg(0), symbol("callee")]),
        ("ld.param.u64 %rd1, [pointer];", vec![reg(0), address(symbol("pointer"), 0)]),
        ("ld.global.u32 %r1, [%rd1+-16];", vec![reg(0), address(reg(1), -16)]),
        ("ld.global.u32 %r1, [table+2*4];", vec![reg(0), address(symbol("table"), 8)]),
        ("ld.local.u32 %r1, [16+4];", vec![reg(0), address(Operand::Int(20), 0)]),
        (
            "ld.global.v4.f32 {%f1, _, %f2, %f1}, [%rd1];",
            vec![Operand::Vector(vec![reg(0), Operand::Sink, reg(1), reg(0)]), address(reg(2), 0)],
        ),
        ("mov.b64 %rd1, {%r1, 0};", vec![reg(0), Operand::Vector(vec![reg(1), Operand::Int(0)])]),
        (
            "setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;",
            vec![Operand::Pair(Box::new(reg(0)), Box::new(reg(1))), reg(2), reg(3), Operand::Not(Box::new(reg(4)))],
        ),
        (
            "setp.eq.s32 %p1|_, %r1, 0;",
            vec![Operand::Pair(Box::new(reg(0)), Box::new(Operand::Sink)), reg(1), Operand::Int(0)],
        ),
        (
            "call.uni (%r1), callee, (%r2, 7);",
            vec![Operand::List(vec![reg(0)]), symbol("callee"), Operand::List(vec![reg(1), Operand::Int(7)])],
        ),
        ("call callee, ();", vec![symbol("callee"), Operand::List(vec![])]),
        (
            "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r2}];",
            vec![
                Operand::Vector((0..4).map(reg).collect()),
                address(Operand::List(vec![reg(4), Operand::Vector(vec![reg(5), reg(6)])]), 0),
            ],
        ),
        ("ret;", vec![]),
    ] {
        assert_eq!(operands(instruction), expected, "{instruction}");
    }
}

#[test]
fn instructions() {
    let f = function(
        "add.s32 %r1, %r2, 1;\n\t@!%p1 ld.global .L1::evict_last\t.f32 %f1, [%rd1];\n@%p1 add.s32 %r1, %r1, 1;",
    );
    let opcodes: Vec<&str> = f.body.iter().map(|instruction| &*instruction.opcode).collect();
    assert_eq!(opcodes, ["add.s32", "ld.global.L1::evict_last.f32", "add.s32"]);
    assert!(std::sync::Arc::ptr_eq(&f.body[0].opcode, &f.body[2].opcode), "one copy of each opcode");
    let p1 = RegId(2);
    assert_eq!(&*f.registers[2].name, "%p1");
    assert_eq!(f.body[0].guard, None);
    assert_eq!(f.body[1].guard, Some(Guard { predicate: p1, negated: true }));
    assert_eq!(f.body[2].guard, Some(Guard { predicate: p1, negated: false }));
    assert_eq!((f.body[1].span.line, f.body[1].span.column), (12, 8));
}

#[test]
fn registers_come_in_order_of_use() {
    let f = function(".reg .f64 x, %d<16777216>; .reg .v2 .b32 %v<2>; mov.f64 %d9999999, x; mov.b32 %r3, %v1.y;");
    let registers: Vec<_> = f.registers.iter().map(|register| (&*register.name, register.ty)).collect();
    assert_eq!(
        registers,
        [("%d9999999", Type::F64), ("x", Type::F64), ("%r3", Type::B32), ("%v1.x", Type::B32), ("%v1.y", Type::B32),]
    );
    assert_eq!(f.body[1].operands, [reg(2), reg(4)]);
}

#[test]
fn scopes_shadow_registers_and_variables() {
    let f = function(
        ".shared .u32 s; mov.u32 %r1, s;
         { .reg .b32 %r<3>; .shared .u32 s; mov.u32 %r1, s; { .local .b8 table[3]; mov.u32 %r2, table; } }
         mov.u32 %r1, s; mov.u64 %rd1, table;",
    );
    let operands: Vec<_> = f.body.iter().map(|instruction| instruction.operands.clone()).collect();
    assert_eq!(
        operands,
        [
            [reg(0), symbol("s")],
            [reg(1), symbol("s~2")],
            [reg(2), symbol("table~2")],
            [reg(0), symbol("s")],
            [reg(3), symbol("table")],
        ]
    );
    let variables: Vec<_> = f.variables.iter().map(|v| (&*v.name, v.space, v.size)).collect();
    assert_eq!(variables, [("s", Space::Shared, 4), ("s~2", Space::Shared, 4), ("table~2", Space::Local, 3)]);
}

#[test]
fn labels_are_local_to_their_scope() {
    let f = function(
        "L: bra L;
         { bra L; L: mov.u32 %r1, 1; bra DONE; }
         { @%p1 bra L; L: bra L; }
         bra L; DONE: END:",
    );
    let targets: Vec<_> = f.body.iter().filter(|i| &*i.opcode == "bra").map(|i| i.operands.clone()).collect();
    let expected: Vec<_> = [0, 2, 7, 5, 5, 0].map(|target| vec![Operand::Label(target)]).into();
    assert_eq!(targets, expected);
    let labels: Vec<_> = f.labels.iter().map(|(name, at)| (&**name, *at)).collect();
    assert_eq!(labels, [("L", 0), ("L", 2), ("L", 5), ("DONE", 7), ("END", 7)]);
    assert_eq!(f.body.len(), 7);
}

#[test]
fn tables_and_prototypes() {
    let f = function(
        "T: .branchtargets A, B, A;
         { T: .branchtargets B; brx.idx %r1, T; }
         brx.idx.uni %r1, T;
         P: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]) .noreturn;
         A: call (%r1), %rd1, (%rd2), P;
         B: ret;",
    );
    let tables: Vec<_> = f.branch_targets.iter().map(|(name, targets)| (&**name, &targets[..])).collect();
    assert_eq!(tables, [("T", &[2, 3, 2][..]), ("T~2", &[3])]);
    assert_eq!(f.body[0].operands[1], symbol("T~2"));
    assert_eq!(f.body[1].operands[1], symbol("T"));
    assert_eq!(f.body[2].operands[3], symbol("P"));
    let [prototype] = &f.prototypes[..] else { panic!("{:?}", f.prototypes) };
    let sizes = |list: &[ptx_sim::ast::Variable]| list.iter().map(|variable| variable.size).collect::<Vec<_>>();
    assert_eq!(&*prototype.name, "P");
    assert_eq!((sizes(&prototype.results), sizes(&prototype.params)), (vec![4], vec![8, 16]));
}

#[test]
fn parameters_and_results() {
    let module = module(
        ".global .u32 shared_name;
         .func (.param .b32 result) f(.param .b64 a, .param .align 4 .b8 shared_name[8]) {
             .reg .b32 %r;
             { .param .b32 a; st.param.b32 [a], %r; }
             ld.param.b32 %r, [shared_name+4];
             st.param.b32 [result], %r;
             ret;
         }",
    );
    let f = module.function("f").unwrap();
    let names: Vec<_> = f.results.iter().chain(&f.params).map(|v| (&*v.name, v.space, v.size)).collect();
    assert_eq!(names, [("result", Space::Param, 4), ("a", Space::Param, 8), ("shared_name~2", Space::Param, 8)]);
    assert_eq!(f.body[0].operands[0], address(symbol("a~2"), 0));
    assert_eq!(f.body[1].operands[1], address(symbol("shared_name~2"), 4));
    assert_eq!(f.body[2].operands[0], address(symbol("result"), 0));
}

#[test]
fn source_lines() {
    let f = function(
        "mov.u32 %r1, 0;
         .loc 1 12 3
         mov.u32 %r1, 1;
         mov.u32 %r1, 2;
         .loc 2 7 1, function_name $L__info_string0, inlined_at 1 13 5
         mov.u32 %r1, 3;
         .loc 2 8 1, function_name $L__info_string0+12, inlined_at 1 13 5
         mov.u32 %r1, 4;
         .loc 1 0 0
         mov.u32 %r1, 5;
         .loc 9 1 1
         mov.u32 %r1, 6;",
    );
    let lines: Vec<_> = f.body.iter().map(|i| i.source.as_ref().map(|source| (&*source.file, source.line))).collect();
    let (first, second) = ("first.cu", "second.h");
    let expected = [None, Some((first, 12)), Some((first, 12)), Some((second, 7)), Some((second, 8)), None, None];
    assert_eq!(lines, expected);
}
