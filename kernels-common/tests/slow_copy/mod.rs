//! A kernel that keeps a GPU busy for a while, and shows who did not wait for it.

use kernels_common::device::BackendKind;
use kernels_common::error::Result;
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::{Slice, SliceMut};
use kernels_common::module::{self, Kernel};
use kernels_common::stream::Stream;

/// Copies x to y after `steps` steps of doing nothing: whoever does not wait for it is too early.
const SLOW_COPY: &str = "\
.version 6.4
.target sm_75
.address_size 64

.visible .entry slow_copy(
    .param .u64 .ptr .global .align 4 x,
    .param .u64 .ptr .global .align 4 y,
    .param .u32 n,
    .param .u32 steps
)
{
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<4>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    ld.param.u32 %r2, [n];
    setp.ge.u32 %p1, %r1, %r2;
    @%p1 ret;
    ld.param.u32 %r4, [steps];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r5, 0;
    mov.u32 %r6, 1;
$wait:
    mul.lo.u32 %r6, %r6, 1664525;
    add.u32 %r6, %r6, 1013904223;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p2, %r5, %r4;
    @%p2 bra $wait;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.u32 %r7, [%rd1];
    // Never so, but the compiler cannot know it and leave out the loop.
    setp.eq.u32 %p2, %r6, 305419896;
    @%p2 add.u32 %r7, %r7, 1;
    st.global.u32 [%rd2], %r7;
    ret;
}
";

pub(crate) struct SlowCopy {
    pub(crate) kernel: Kernel,
    pub(crate) steps: u32,
}

impl SlowCopy {
    pub(crate) fn new(stream: &Stream) -> SlowCopy {
        let [kernel] = module::load_text(stream, "slow_copy.ptx", SLOW_COPY, ["slow_copy"]).unwrap();
        // Some milliseconds of a GPU. The simulator is done before it returns, whatever the number.
        let steps = if stream.device().properties().backend == BackendKind::Cuda { 1_000_000 } else { 10 };
        SlowCopy { kernel, steps }
    }

    pub(crate) fn run(&self, from: Slice<'_, u32>, to: SliceMut<'_, u32>) -> Result<()> {
        assert_eq!(from.len(), to.len());
        let config = LaunchConfig::covering(from.len() as u64, 256)?;
        let n = from.len() as u32;
        // SAFETY: the kernel keeps to the n elements of both.
        unsafe { self.kernel.launch(config, (from, to, n, self.steps)) }
    }
}
