//! What the tests share.
#![allow(dead_code, unreachable_pub, reason = "no test program uses all of it")]

use std::sync::Arc;

use ptx_sim::ptx::Module;
use ptx_sim::{Config, Counters, Fault, Kernel, Launch, LoadError, Program, Simulator};

/// Kernels compiled by nvcc from `ptx/kernels.cu`.
pub const KERNELS: &str = include_str!("../ptx/kernels.ptx");

/// A simulator with one module loaded.
pub struct Device {
    pub simulator: Simulator,
    pub program: Program,
    /// Of all launches that met no fault.
    pub counters: Counters,
}

/// Bytes of plain values.
pub trait Plain: Copy {
    fn append(self, bytes: &mut Vec<u8>);
    fn take(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($T:ty)+) => {
        $(impl Plain for $T {
            fn append(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
            fn take(bytes: &[u8]) -> $T {
                <$T>::from_le_bytes(bytes.try_into().unwrap())
            }
        })+
    };
}

plain! { u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 }

pub fn to_bytes<T: Plain>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &value in values {
        value.append(&mut bytes);
    }
    bytes
}

pub fn from_bytes<T: Plain>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(T::take).collect()
}

/// A parameter block, built up in order.
#[derive(Clone, Default)]
pub struct Params(Vec<u8>);

impl Params {
    pub fn new() -> Params {
        Params::default()
    }

    pub fn add<T: Plain>(mut self, value: T) -> Params {
        while !self.0.len().is_multiple_of(size_of::<T>()) {
            self.0.push(0);
        }
        value.append(&mut self.0);
        self
    }
}

impl Device {
    pub fn new(ptx: &str) -> Device {
        Device::with(Config::default(), ptx)
    }

    pub fn with(config: Config, ptx: &str) -> Device {
        let module = Module::parse("test.ptx", ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
        Device::loaded(config, Arc::new(module)).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn loaded(config: Config, module: Arc<Module>) -> Result<Device, LoadError> {
        let mut simulator = Simulator::new(config);
        let program = simulator.load(module)?;
        Ok(Device { simulator, program, counters: Counters::default() })
    }

    pub fn kernel(&self, name: &str) -> Arc<Kernel> {
        self.simulator.kernel(&self.program, name).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn upload<T: Plain>(&mut self, values: &[T]) -> u64 {
        let bytes = to_bytes(values);
        let address = self.simulator.allocate(bytes.len() as u64).unwrap();
        self.simulator.write(address, &bytes).unwrap();
        address
    }

    pub fn allocate<T: Plain>(&mut self, count: usize) -> u64 {
        self.simulator.allocate((count * size_of::<T>()) as u64).unwrap()
    }

    pub fn download<T: Plain>(&self, address: u64, count: usize) -> Vec<T> {
        let mut bytes = vec![0; count * size_of::<T>()];
        self.simulator.read(address, &mut bytes).unwrap();
        from_bytes(&bytes)
    }

    pub fn try_launch(&mut self, name: &str, launch: Launch, params: Params) -> Result<Counters, Fault> {
        let kernel = self.kernel(name);
        let counters = self.simulator.launch(&kernel, &launch, &params.0)?;
        self.counters += counters;
        Ok(counters)
    }

    pub fn launch(&mut self, name: &str, launch: Launch, params: Params) -> Counters {
        self.try_launch(name, launch, params).unwrap_or_else(|fault| panic!("{fault}"))
    }
}

/// A launch of `blocks` blocks of `threads` threads.
pub fn launch(blocks: u32, threads: u32) -> Launch {
    Launch { grid: [blocks, 1, 1], block: [threads, 1, 1], ..Launch::default() }
}

/// A kernel around a body that uses the registers `%p0`–`%p9`, `%h0`–`%h9`, `%r0`–`%r19`, `%f0`–`%f9`, `%rd0`–`%rd19`
/// and `%fd0`–`%fd9`; `params` are its parameters.
pub fn kernel(name: &str, params: &str, body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry {name}({params})\n{{\n\
         .reg .pred %p<10>;\n.reg .b16 %h<10>;\n.reg .b32 %r<20>;\n.reg .f32 %f<10>;\n.reg .b64 %rd<20>;\n\
         .reg .f64 %fd<10>;\n{body}\nret;\n}}\n"
    )
}

/// Repeatable random numbers.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// From `low` up to `high`, both included.
    pub fn within(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low + 1) as u64) as i64
    }

    /// From `low` up to `high`.
    pub fn real(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn list<T>(&mut self, n: usize, mut f: impl FnMut(&mut Random) -> T) -> Vec<T> {
        (0..n).map(|_| f(self)).collect()
    }
}
