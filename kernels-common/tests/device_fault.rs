//! What a fault in a kernel leaves behind. A test program of its own: on a GPU the fault is the end of the process's
//! use of the device.

use kernels_common::device::BackendKind;
use kernels_common::error::{Error, Result};
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::{Attach, DeviceBuffer, PinnedBuffer, PinnedKind, UnifiedBuffer};
use kernels_common::module::{self, Kernel};
use kernels_common::stream::{Event, Stream};
use kernels_common::testing::devices;

/// Writes a terabyte past its argument.
const STRAY: &str = "\
.version 6.3
.target sm_75
.address_size 64

.visible .entry stray(
    .param .u64 .ptr .align 4 x
)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;

    ld.param.u64 %rd1, [x];
    cvta.to.global.u64 %rd2, %rd1;
    add.s64 %rd2, %rd2, 1099511627776;
    mov.u32 %r1, 7;
    st.global.u32 [%rd2], %r1;
    ret;
}
";

/// One of everything that is dropped after the fault.
struct Everything {
    _device: DeviceBuffer<u8>,
    pinned: PinnedBuffer<f32>,
    unified: UnifiedBuffer<f32>,
    _kernel: Kernel,
    _event: Event,
}

impl Everything {
    fn new(stream: &Stream) -> Result<Everything> {
        let [kernel] = module::load_text(stream, "stray.ptx", STRAY, ["stray"])?;
        Ok(Everything {
            _device: stream.upload(&[1u8; 100])?,
            pinned: PinnedBuffer::zeros(stream, 100, PinnedKind::Cached)?,
            unified: UnifiedBuffer::zeros(stream, 100, Attach::Global)?,
            _kernel: kernel,
            _event: stream.record()?,
        })
    }
}

fn stray(stream: &Stream) -> Result<()> {
    let [kernel] = module::load_text(stream, "stray.ptx", STRAY, ["stray"])?;
    let mut x = stream.upload(&[1.0f32])?;
    let mut pinned = PinnedBuffer::<f32>::zeros(stream, 1, PinnedKind::Cached)?;
    pinned.host_mut()?[0] = 1.0;
    // SAFETY: the simulator reports the stray write; a GPU faults on it, because nothing is mapped there.
    unsafe { kernel.launch(LaunchConfig::linear(1, 1), (x.as_slice_mut(),))? };
    stream.synchronize()
    // The kernel, the buffers and the pinned memory are dropped after the fault.
}

#[test]
fn a_fault_is_a_typed_error_and_drops_stay_quiet() {
    // The GPU comes last, because its fault stays.
    for device in devices() {
        let stream = device.stream().unwrap();
        let (kept, dropped) = (Everything::new(&stream).unwrap(), Everything::new(&stream).unwrap());
        let error = stray(&stream).unwrap_err();
        if device.properties().backend == BackendKind::Cuda {
            assert!(matches!(error, Error::Driver { code: 700, .. }), "{error:?}");
            assert!(error.to_string().contains("the device `sim`"), "{error}");
            // What comes after is refused, with an error again.
            assert!(matches!(kept.pinned.host(), Err(Error::Driver { .. })));
            assert!(matches!(kept.unified.host(), Err(Error::Driver { .. })));
            assert!(matches!(stream.upload(&[1u8]), Err(Error::Driver { .. })));
        } else {
            assert!(matches!(error, Error::Fault(_)), "{error:?}");
            assert_eq!(kept.pinned.host().unwrap(), [0.0; 100]);
            assert_eq!(*kept.unified.host().unwrap(), [0.0; 100]);
        }
        drop(dropped);
        // Dropped while unwinding: a second panic would abort the process.
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _kept = kept;
            let _event = stream.record();
            panic!("on purpose");
        }));
        assert!(unwound.is_err());
    }
}
