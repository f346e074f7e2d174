//! A kernel around one instruction, run on many inputs.

use ptx_sim::Config;

use crate::common::{Device, Params, Random, kernel, launch};

/// The type of an operand: bits, and what its interesting values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    /// Integers of this many bits.
    Int(u32),
    /// Shift amounts and the like.
    Small,
    F16,
    BF16,
    /// Two f16, or two bf16: random bits.
    Packed,
    F32,
    F64,
}

pub use Ty::*;

impl Ty {
    pub fn bits(self) -> u32 {
        match self {
            Int(bits) => bits,
            F16 | BF16 => 16,
            Small | Packed | F32 => 32,
            F64 => 64,
        }
    }

    fn edges(self) -> Vec<u64> {
        match self {
            Int(bits) => {
                let top = 1u64 << (bits - 1);
                let max = u64::MAX >> (64 - bits);
                let mut list = vec![0, 1, 2, 3, 7, 31, max, max - 1, max - 6, top, top - 1, top + 1, max / 3];
                list.extend([top >> 1, 0x5a5a_5a5a_5a5a_5a5a & max, 1 << (bits / 2), (1 << (bits / 2)) - 1]);
                list
            }
            Small => vec![0, 1, 2, 3, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, u64::from(u32::MAX)],
            F16 => vec![
                0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x3c01, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
                0xfc01,
            ],
            BF16 => vec![
                0, 0x8000, 1, 0x8001, 0x7f, 0x80, 0x3f80, 0xbf80, 0x3f81, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0,
                0xff81,
            ],
            Packed => {
                vec![0, 0x8000_0001, 0x3c00_bc00, 0x7c00_fc00, 0x7e00_0001, 0x7bff_fbff, 0x3f80_bf80, 0x7f7f_ff7f]
            }
            F32 => [
                0.0f32,
                -0.0,
                1.0,
                -1.0,
                1.5,
                -2.5,
                0.5,
                3.0e38,
                -3.0e38,
                f32::MAX,
                f32::MIN,
                f32::MIN_POSITIVE,
                f32::INFINITY,
                f32::NEG_INFINITY,
                f32::EPSILON,
                1e-40,
                -1e-45,
                16_777_216.0,
                2_147_483_648.0,
                -2_147_483_904.0,
                4_294_967_296.0,
                1.844_674_4e19,
                65_504.0,
                65_520.0,
                f32::NAN,
            ]
            .map(|x| u64::from(x.to_bits()))
            .into_iter()
            .chain([0xffc0_1234, 0x7f80_0001])
            .collect(),
            F64 => [
                0.0f64,
                -0.0,
                1.0,
                -1.0,
                1.5,
                -2.5,
                0.5,
                1e308,
                -1e308,
                f64::MAX,
                f64::MIN,
                f64::MIN_POSITIVE,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::EPSILON,
                1e-310,
                -5e-324,
                9_007_199_254_740_993.0,
                2_147_483_647.5,
                -2_147_483_648.5,
                9.3e18,
                -9.3e18,
                1.9e19,
                3.5e38,
                1e-39,
                f64::NAN,
            ]
            .map(f64::to_bits)
            .into_iter()
            .chain([0xfff8_0000_0000_1234, 0x7ff0_0000_0000_0001])
            .collect(),
        }
    }

    fn random(self, random: &mut Random) -> u64 {
        let bits = random.next();
        match self {
            Int(width) if bits & 3 == 0 => (bits >> 8 & 0xff) & (u64::MAX >> (64 - width)),
            Int(width) => random.next() & (u64::MAX >> (64 - width)),
            Small => bits & 0x7f,
            F16 | BF16 => bits & 0xffff,
            Packed => bits & 0xffff_ffff,
            // Half of them of moderate size, so that sums and conversions are not all trivial.
            F32 if bits & 1 == 0 => u64::from((bits as i32 as f32 / 65536.0).to_bits()),
            F32 => bits >> 8 & 0xffff_ffff,
            F64 if bits & 1 == 0 => (bits as i64 as f64 / 4294967296.0).to_bits(),
            F64 => bits.rotate_left(17),
        }
    }

    fn register(self, number: usize) -> String {
        match self.bits() {
            8 | 16 => format!("%h{number}"),
            32 => format!("%r{number}"),
            _ => format!("%rd{number}"),
        }
    }
}

/// Threads of the one block that runs a test.
const THREADS: usize = 1024;
/// What a result register holds before the instruction.
const BEFORE: u64 = 0xdead_beef_0bad_f00d;

/// Inputs for every thread: pairs of edge cases, then anything.
fn inputs(types: &[Ty]) -> Vec<Vec<u64>> {
    let mut random = Random(types.len() as u64);
    let edges: Vec<Vec<u64>> = types.iter().map(|ty| ty.edges()).collect();
    (0..THREADS)
        .map(|thread| {
            let mut rest = thread;
            let pairs = edges.first().map_or(1, Vec::len) * edges.get(1).map_or(1, Vec::len);
            types
                .iter()
                .zip(&edges)
                .enumerate()
                .map(|(place, (ty, edges))| {
                    let edge = if thread < pairs && place < 2 {
                        let edge = rest % edges.len();
                        rest /= edges.len();
                        Some(edge)
                    } else {
                        let bits = random.next() as usize;
                        (bits & 1 == 0).then_some((bits >> 8) % edges.len())
                    };
                    edge.map_or_else(|| ty.random(&mut random), |edge| edges[edge])
                })
                .collect()
        })
        .collect()
}

/// Runs `text`, in which `{d}` stands for the result and `{a}`, `{b}`, `{c}` for the operands, and compares the result
/// in every lane with `expected`. Lanes that a branch leaves out must keep the old value.
#[track_caller]
pub fn check_text(text: &str, types: &[Ty], result: Ty, expected: impl Fn([u64; 3]) -> u64) {
    check_with(text, types, result, &expected);
}

/// [`check_text`], compiled once for all functions.
#[track_caller]
fn check_with(text: &str, types: &[Ty], result: Ty, expected: &dyn Fn([u64; 3]) -> u64) {
    let mut body = String::from("mov.u32 %r19, %tid.x;\n");
    for (place, ty) in types.iter().enumerate() {
        let (bytes, register) = (ty.bits() / 8, ty.register(place + 1));
        body += &format!(
            "ld.param.u64 %rd19, [in{place}];\nmad.wide.u32 %rd18, %r19, {bytes}, %rd19;\n\
             ld.global.b{} {register}, [%rd18];\n",
            ty.bits()
        );
    }
    let d = result.register(9);
    let load_before = format!(
        "ld.param.u64 %rd19, [out];\nmad.wide.u32 %rd18, %r19, {}, %rd19;\nld.global.b{} {d}, [%rd18];\n",
        result.bits() / 8,
        result.bits()
    );
    body += &load_before;
    body += "ld.param.u32 %r18, [mask];\nand.b32 %r17, %r18, %r19;\nsetp.ne.u32 %p9, %r17, 0;\n@%p9 bra SKIP;\n";
    let mut text = text.replace("{d}", &d);
    for (place, name) in ["{a}", "{b}", "{c}"].iter().enumerate() {
        if let Some(ty) = types.get(place) {
            text = text.replace(name, &ty.register(place + 1));
        }
    }
    body += &format!("{text}\nSKIP:\nst.global.b{} [%rd18], {d};\n", result.bits());
    let params = (0..types.len()).map(|place| format!(".param .u64 in{place}, ")).collect::<String>();
    let ptx = kernel("test", &format!("{params}.param .u64 out, .param .u32 mask"), &body);
    let inputs = inputs(types);
    let result_mask = u64::MAX >> (64 - result.bits());
    for portable in [false, true] {
        let mut device = Device::with(Config { portable, ..Config::default() }, &ptx);
        let buffers: Vec<u64> = (0..types.len())
            .map(|place| {
                let bytes = types[place].bits() as usize / 8;
                let data: Vec<u8> =
                    inputs.iter().flat_map(|values| values[place].to_le_bytes()[..bytes].to_vec()).collect();
                device.upload(&data)
            })
            .collect();
        // 0: all lanes; 1: even lanes only; 96: some warps only.
        for left_out in [0u32, 1, 96] {
            let bytes = result.bits() as usize / 8;
            let before: Vec<u8> = (0..THREADS).flat_map(|_| BEFORE.to_le_bytes()[..bytes].to_vec()).collect();
            let out = device.upload(&before);
            let params = buffers.iter().fold(Params::new(), |params, &buffer| params.add(buffer));
            device.launch("test", launch(1, THREADS as u32), params.add(out).add(left_out));
            let results: Vec<u8> = device.download(out, THREADS * bytes);
            for (thread, values) in inputs.iter().enumerate() {
                let mut got = [0; 8];
                got[..bytes].copy_from_slice(&results[thread * bytes..][..bytes]);
                let got = u64::from_le_bytes(got);
                let operands = [0, 1, 2].map(|place| values.get(place).copied().unwrap_or(0));
                let want = if thread as u32 & left_out == 0 { expected(operands) } else { BEFORE };
                assert!(
                    got == want & result_mask,
                    "{text}\nportable {portable}, thread {thread}, left out {left_out}\n\
                     operands {values:#x?}\ngot  {got:#x}\nwant {:#x}",
                    want & result_mask
                );
            }
        }
    }
}

/// [`check_text`] for the plain form `opcode d, a, b, c`.
#[track_caller]
pub fn check(opcode: &str, types: &[Ty], result: Ty, expected: impl Fn([u64; 3]) -> u64) {
    let operands = ["{a}", "{b}", "{c}"][..types.len()].join(", ");
    check_text(&format!("{opcode} {{d}}, {operands};"), types, result, expected);
}

/// [`check`] for functions of single-precision numbers; NaN results are canonical.
#[track_caller]
pub fn check_f32(opcode: &str, count: usize, f: impl Fn([f32; 3]) -> f32) {
    check(opcode, &[F32; 3][..count], F32, |bits| {
        let result = f(bits.map(|bits| f32::from_bits(bits as u32)));
        u64::from(if result.is_nan() { 0x7fff_ffff } else { result.to_bits() })
    });
}

/// [`check`] for functions of double-precision numbers; a NaN result is the first operand that is one, made quiet.
#[track_caller]
pub fn check_f64(opcode: &str, count: usize, f: impl Fn([f64; 3]) -> f64) {
    check(opcode, &[F64; 3][..count], F64, |bits| {
        let operands = bits.map(f64::from_bits);
        let result = f(operands);
        match operands[..count].iter().find(|x| x.is_nan()) {
            Some(nan) => nan.to_bits() | 1 << 51,
            None if result.is_nan() => 0xfff8_0000_0000_0000,
            None => result.to_bits(),
        }
    });
}
