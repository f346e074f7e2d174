//! Functions that the device provides instead of the module: `vprintf`, `malloc`, `free` and `__assertfail`, which
//! `printf`, `new`, `delete` and `assert` in CUDA C++ become.

use super::level::Run;
use super::memory::space_of;
use super::{Flow, Machine, printf};
use crate::code::Ins;
use crate::fault::{Access, FaultKind, MemorySpace, Operation};
use crate::rows::{LANES, lanes};

/// Bytes of a string that are looked at.
const MAX_STRING: u64 = 1 << 16;
/// Bytes that a launch may print.
const MAX_OUTPUT: usize = 16 << 20;
/// What `vprintf` gives if it cannot print.
const FAILED: i32 = -2;

/// One of these functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemFunction {
    /// `int vprintf(const char *format, void *arguments)`
    Print,
    /// `void *malloc(size_t bytes)`
    Allocate,
    /// `void free(void *)`
    Free,
    /// `void __assertfail(const char *message, const char *file, unsigned line, const char *function, size_t)`
    AssertFail,
}

impl SystemFunction {
    /// The function of this name with the bytes of its parameters and of its result.
    pub(crate) fn named(name: &str) -> Option<(SystemFunction, &'static [u64], Option<u64>)> {
        Some(match name {
            "vprintf" => (SystemFunction::Print, &[8, 8], Some(4)),
            "malloc" => (SystemFunction::Allocate, &[8], Some(8)),
            "free" => (SystemFunction::Free, &[8], None),
            "__assertfail" => (SystemFunction::AssertFail, &[8, 8, 4, 8, 8], None),
            _ => return None,
        })
    }
}

/// A call of a system function: where its arguments and its result are in the caller's local memory.
#[derive(Clone, Debug)]
pub(crate) struct SystemCall {
    pub(crate) function: SystemFunction,
    pub(crate) arguments: Vec<u32>,
    pub(crate) result: Option<u32>,
}

/// The call `extra` of [`Code::system_calls`](crate::code::Code::system_calls).
pub(crate) struct CallSystem;

impl Run for CallSystem {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        m.call_system(ins.extra as usize)
    }
}

impl Machine<'_> {
    #[inline(never)]
    fn call_system(&mut self, index: usize) -> Flow {
        let code = self.code;
        let call = &code.system_calls[index];
        for lane in lanes(self.mask) {
            let argument = |number: usize| self.local.read(self.local_base + u64::from(call.arguments[number]), lane);
            let outcome = match call.function {
                SystemFunction::Print => {
                    let (format, arguments) = (argument(0), argument(1));
                    self.print(format, arguments, lane).map(|count| u64::from(count as u32))
                }
                SystemFunction::Allocate => {
                    let size = argument(0);
                    Ok(self.memory.alone().and_then(|memory| memory.allocate_on_heap(size)).unwrap_or(0))
                }
                SystemFunction::Free => {
                    let address = argument(0);
                    match address == 0 || self.memory.alone().is_some_and(|memory| memory.free_on_heap(address)) {
                        true => Ok(0),
                        false => Err(FaultKind::BadFree { address }),
                    }
                }
                SystemFunction::AssertFail => {
                    let (line, [message, file, function]) = (argument(2) as u32, [0, 1, 3].map(argument));
                    let text = |address| self.string(address, lane).unwrap_or_default();
                    let (message, file, function) = (text(message), text(file), text(function));
                    Err(FaultKind::Assertion { message, file, line, function })
                }
            };
            match (outcome, call.result) {
                (Ok(value), Some(result)) => {
                    let size = if call.function == SystemFunction::Allocate { 8 } else { 4 };
                    self.local.write(self.local_base + u64::from(result), lane, size, value);
                }
                (Ok(_), None) => {}
                (Err(kind), _) => return self.fail(kind, lane),
            }
        }
        Flow::Next
    }

    /// Prints, and gives the number of arguments.
    fn print(&mut self, format: u64, arguments: u64, lane: usize) -> Result<i32, FaultKind> {
        if format == 0 {
            return Ok(-1);
        }
        let format = self.string(format, lane)?;
        let mut next = arguments;
        let mut count = 0;
        let left = MAX_OUTPUT.saturating_sub(self.output.len());
        let text = printf::format(&format, left, |argument| {
            count += 1;
            let size = argument.bytes();
            next = next.checked_next_multiple_of(size).unwrap_or(0);
            let bits = self.peek(next, size, lane)?;
            next = next.wrapping_add(size);
            match argument {
                printf::Argument::Text => Ok(printf::Value::Text(match bits {
                    0 => "(null)".to_owned(),
                    address => self.string(address, lane)?,
                })),
                _ => Ok(printf::Value::Bits(bits)),
            }
        })?;
        if text.len() > left {
            return Ok(FAILED);
        }
        self.output.push_str(&text);
        Ok(count)
    }

    /// The text at a generic address, up to its zero.
    fn string(&self, address: u64, lane: usize) -> Result<String, FaultKind> {
        let mut bytes = Vec::new();
        for offset in 0..MAX_STRING {
            match self.peek(address.wrapping_add(offset), 1, lane)? {
                0 => break,
                byte => bytes.push(byte as u8),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The element of `size` bytes at a generic address, as a load by `lane` would find it.
    fn peek(&self, address: u64, size: u64, lane: usize) -> Result<u64, FaultKind> {
        let (space, base) = space_of(address);
        let offset = address - base;
        let access = Access { operation: Operation::Load, space, address: offset, bytes: size as u32 };
        if !offset.is_multiple_of(size) {
            return Err(FaultKind::Misaligned { access, align: size as u32 });
        }
        let read = |host: *const u8| {
            let mut bytes = [0; 8];
            // SAFETY: each caller has found `size` bytes there, of which there are at most eight.
            unsafe { std::ptr::copy_nonoverlapping(host, bytes.as_mut_ptr(), size as usize) };
            u64::from_le_bytes(bytes)
        };
        let outside = FaultKind::OutOfBounds { access, place: None };
        match space {
            MemorySpace::Global => match self.global(address, size, Operation::Load) {
                // SAFETY: the region holds the element.
                Some(region) => Ok(read(unsafe { region.host.add((address - region.start) as usize) })),
                None => Err(self.memory.diagnose(access)),
            },
            MemorySpace::Shared => self.shared.peek(offset, size).map(read).ok_or(outside),
            MemorySpace::Local if self.local.holds(offset, size) => {
                Ok(self.local.read(offset, lane % LANES) & u64::MAX >> (64 - 8 * size))
            }
            MemorySpace::Local => Err(outside),
            MemorySpace::Param => {
                let end = offset.saturating_add(size) as usize;
                self.params.get(offset as usize..end).map(|bytes| read(bytes.as_ptr())).ok_or(outside)
            }
        }
    }
}
