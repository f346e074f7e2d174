//! Graphs: what they do, what they keep, and what cannot be a part of one.

mod slow_copy;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use kernels_common::device::{BackendKind, Device};
use kernels_common::error::{Error, Result};
use kernels_common::graph::Graph;
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::{
    Attach, DeviceBuffer, HostValue, PinnedBuffer, PinnedKind, Slice, SliceMut, UnifiedBuffer,
};
use kernels_common::module::{self, Kernel};
use kernels_common::stream::Stream;
use kernels_common::testing::devices;
use proptest::prelude::*;
use slow_copy::SlowCopy;

/// y[i] += x[i], one element a thread.
const ADD: &str = "\
.version 6.4
.target sm_75
.address_size 64

.visible .entry add(
    .param .u64 .ptr .global .align 4 x,
    .param .u64 .ptr .global .align 4 y,
    .param .u32 n
)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    ld.param.u32 %r2, [n];
    setp.ge.u32 %p1, %r1, %r2;
    @%p1 ret;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.u32 %r3, [%rd1];
    ld.global.u32 %r4, [%rd2];
    add.u32 %r4, %r4, %r3;
    st.global.u32 [%rd2], %r4;
    ret;
}
";

struct Add(Kernel);

impl Add {
    fn new(stream: &Stream) -> Add {
        let [kernel] = module::load_text(stream, "add.ptx", ADD, ["add"]).unwrap();
        Add(kernel)
    }

    fn add(&self, x: Slice<'_, u32>, y: SliceMut<'_, u32>) -> Result<()> {
        y.check_len(x.len(), "y")?;
        let (config, n) = (LaunchConfig::covering(x.len() as u64, 64)?, x.len() as u32);
        // SAFETY: the kernel keeps to the n elements of both.
        unsafe { self.0.launch(config, (x, y, n)) }
    }
}

/// The work of most tests: a fill, a copy and a kernel.
struct Work {
    add: Add,
    x: DeviceBuffer<u32>,
    y: DeviceBuffer<u32>,
    sum: DeviceBuffer<u32>,
}

impl Work {
    fn new(stream: &Stream, x: &[u32]) -> Work {
        Work {
            add: Add::new(stream),
            x: stream.upload(x).unwrap(),
            y: stream.upload(&vec![7; x.len()]).unwrap(),
            sum: stream.alloc_zeros(x.len()).unwrap(),
        }
    }

    /// y = x, but for its first element, which is zero; sum += y.
    fn record(&mut self) -> Result<()> {
        let Work { add, x, y, sum } = self;
        y.as_slice_mut().copy_from_slice(x.as_slice())?;
        let first = y.len().min(1);
        y.slice_mut(..first)?.fill_zero()?;
        add.add(y.as_slice(), sum.as_slice_mut())
    }

    fn graph(stream: &Stream, x: &[u32]) -> Graph<Work> {
        Graph::capture(stream, Work::new(stream, x), Work::record).unwrap()
    }
}

/// The elements with a zero in the first place.
fn masked(x: &[u32]) -> Vec<u32> {
    x.iter().enumerate().map(|(index, &value)| if index == 0 { 0 } else { value }).collect()
}

fn sum_of(graph: &Graph<Work>) -> Vec<u32> {
    graph.resources().sum.download().unwrap()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_launch_does_the_work_on_what_the_memory_holds(
        contents in (0usize..700).prop_flat_map(|n| {
            proptest::collection::vec(proptest::collection::vec(any::<u32>(), n), 1..6)
        }),
        other_len in 0usize..700,
    ) {
        for device in devices() {
            let stream = device.stream().unwrap();
            let mut graph = Work::graph(&stream, &contents[0]);
            // Nothing is done by the capture.
            prop_assert_eq!(graph.resources().y.download().unwrap(), vec![7; contents[0].len()]);
            let mut expected = vec![0u32; contents[0].len()];
            for x in &contents {
                graph.resources_mut().x.as_slice_mut().copy_from(x).unwrap();
                graph.launch().unwrap();
                graph.launch().unwrap();
                for (sum, x) in expected.iter_mut().zip(masked(x)) {
                    *sum = sum.wrapping_add(x).wrapping_add(x);
                }
                prop_assert_eq!(sum_of(&graph), &expected[..]);
            }
            // Other memory, of another length.
            let x = vec![3; other_len];
            *graph.resources_mut() = Work::new(&stream, &x);
            graph.update(Work::record).unwrap();
            graph.launch().unwrap();
            prop_assert_eq!(sum_of(&graph), masked(&x));
        }
    }
}

#[test]
fn a_thousand_launches() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut graph = Work::graph(&stream, &[5; 300]);
        for _ in 0..1000 {
            graph.launch().unwrap();
        }
        let mut expected = [5000; 300];
        expected[0] = 0;
        assert_eq!(sum_of(&graph), expected);
    }
}

#[test]
fn a_graph_without_work_does_nothing() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut graph = Graph::capture(&stream, (), |()| Ok::<_, Error>(())).unwrap();
        graph.launch().unwrap();
        stream.synchronize().unwrap();
    }
}

#[test]
fn a_graph_takes_its_place_among_other_work() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let slow = SlowCopy::new(&stream);
        let mut graph = Work::graph(&stream, &[1; 100]);
        let (ones, threes) = (stream.upload(&[1u32; 100]).unwrap(), stream.upload(&[3u32; 100]).unwrap());
        for _ in 0..5 {
            let work = graph.resources_mut();
            slow.run(ones.as_slice(), work.sum.as_slice_mut()).unwrap();
            slow.run(threes.as_slice(), work.x.as_slice_mut()).unwrap();
            graph.launch().unwrap();
            let work = graph.resources_mut();
            slow.run(ones.as_slice(), work.x.as_slice_mut()).unwrap();
            graph.launch().unwrap();
            assert_eq!(sum_of(&graph)[..2], [1, 5]);
        }
    }
}

#[test]
fn an_update_may_change_everything() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut graph = Work::graph(&stream, &[1; 10]);
        graph.launch().unwrap();
        // The same kinds of work, in other parts of the memory.
        graph
            .update(|Work { add, x, y, sum }| {
                y.slice_mut(..5)?.copy_from_slice(x.slice(5..)?)?;
                y.slice_mut(1..3)?.fill_zero()?;
                add.add(y.slice(..5)?, sum.slice_mut(5..)?)
            })
            .unwrap();
        graph.launch().unwrap();
        assert_eq!(sum_of(&graph), [0, 1, 1, 1, 1, 2, 1, 1, 2, 2]);
        // Less work, then more, of other kinds.
        graph.update(|work| work.sum.slice_mut(..5)?.fill_zero()).unwrap();
        graph.launch().unwrap();
        assert_eq!(sum_of(&graph), [0, 0, 0, 0, 0, 2, 1, 1, 2, 2]);
        graph
            .update(|Work { add, x, sum, .. }| (0..3).try_for_each(|_| add.add(x.as_slice(), sum.as_slice_mut())))
            .unwrap();
        graph.launch().unwrap();
        assert_eq!(sum_of(&graph), [3, 3, 3, 3, 3, 5, 4, 4, 5, 5]);
    }
}

#[test]
fn launches_that_are_queued_stay_as_they_were_before_an_update() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let resources = (SlowCopy::new(&stream), [1u32, 2].map(|value| stream.upload(&[value; 50]).unwrap()));
        let outputs = [0u32; 2].map(|_| stream.alloc_zeros::<u32>(50).unwrap());
        let mut graph = Graph::capture(&stream, (resources, outputs), |((slow, from), to)| {
            slow.run(from[0].as_slice(), to[0].as_slice_mut())
        })
        .unwrap();
        graph.launch().unwrap();
        graph.update(|((slow, from), to)| slow.run(from[1].as_slice(), to[1].as_slice_mut())).unwrap();
        // What the first launch may still work on, freed and asked for again.
        let graph_outputs = &mut graph.resources_mut().1;
        let replaced = std::mem::replace(&mut graph_outputs[0], stream.alloc_zeros(1).unwrap());
        assert_eq!(replaced.download().unwrap(), [1; 50]);
        graph.launch().unwrap();
        assert_eq!(graph.into_resources().1[1].download().unwrap(), [2; 50]);
    }
}

#[test]
fn a_failed_update_leaves_the_graph_as_it_was() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut graph = Work::graph(&stream, &[1; 10]);
        let error = graph.update(|work| work.y.slice_mut(..11).map(|_| ())).unwrap_err();
        assert!(matches!(error, Error::OutOfRange { .. }), "{error}");
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            graph.update(|work| -> Result<()> {
                work.sum.as_slice_mut().fill_zero()?;
                panic!("on purpose")
            })
        }));
        assert!(panicked.is_err());
        graph.launch().unwrap();
        graph.launch().unwrap();
        assert_eq!(sum_of(&graph)[..3], [0, 2, 2]);
    }
}

/// Freed memory would be given to the next allocation of its size, and a launch on it is a fault on the simulator.
#[test]
fn what_is_dropped_or_replaced_a_graph_still_has() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut graph = Work::graph(&stream, &[4; 1000]);
        // The kernel's module too, which nobody else has.
        let mut old = std::mem::replace(graph.resources_mut(), Work::new(&stream, &[9; 1000]));
        let sum = std::mem::replace(&mut old.sum, stream.alloc_zeros(1).unwrap());
        drop(old);
        let others: Vec<_> = (0..4).map(|_| stream.upload(&[77u32; 1000]).unwrap()).collect();
        graph.launch().unwrap();
        assert_eq!(sum.download().unwrap()[..3], [0, 4, 4]);
        assert!(others.iter().all(|other| other.download().unwrap() == [77; 1000]));
        assert_eq!(sum_of(&graph), [0; 1000]);
    }
}

/// What a closure owns beside the resources is kept as well.
#[test]
fn a_closure_may_own_what_it_uses() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let from = stream.upload(&[6u32; 100]).unwrap();
        let to = stream.alloc_zeros::<u32>(100).unwrap();
        let record = move |to: &mut DeviceBuffer<u32>| to.as_slice_mut().copy_from_slice(from.as_slice());
        let mut graph = Graph::capture(&stream, to, record).unwrap();
        let other = stream.upload(&[8u32; 100]).unwrap();
        graph.launch().unwrap();
        assert_eq!(graph.into_resources().download().unwrap(), [6; 100]);
        assert_eq!(other.download().unwrap(), [8; 100]);
    }
}

/// What a closure only borrows is kept as well, also when its owner drops it.
#[test]
fn a_closure_may_borrow_what_it_uses() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let (from, mut to) = (stream.upload(&[6u32; 100]).unwrap(), stream.alloc_zeros::<u32>(100).unwrap());
        let lengths = vec![60, 40];
        let mut calls = 0;
        let mut graph = Graph::capture(&stream, (), |()| {
            let mut start = 0;
            lengths.iter().try_for_each(|&length| {
                calls += 1;
                start += length;
                to.slice_mut(start - length..start)?.copy_from_slice(from.slice(..length)?)
            })
        })
        .unwrap();
        assert_eq!(calls, 2);
        drop((from, lengths));
        let other = stream.upload(&[8u32; 100]).unwrap();
        graph.launch().unwrap();
        assert_eq!(to.download().unwrap(), [6; 100]);
        drop(to);
        let another = stream.upload(&[9u32; 100]).unwrap();
        graph.launch().unwrap();
        graph.launch().unwrap();
        assert_eq!((other.download().unwrap(), another.download().unwrap()), (vec![8; 100], vec![9; 100]));
    }
}

/// What the resources borrow comes back with the end of the graph.
#[test]
fn resources_may_be_borrowed() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut to = stream.upload(&[1u32; 100]).unwrap();
        let mut graph = Graph::capture(&stream, &mut to, |to| to.slice_mut(..50)?.fill_zero()).unwrap();
        graph.launch().unwrap();
        graph.update(|to| to.slice_mut(60..)?.fill_zero()).unwrap();
        graph.launch().unwrap();
        drop(graph);
        let expected = [vec![0; 50], vec![1; 10], vec![0; 40]].concat();
        assert_eq!(to.download().unwrap(), expected);
    }
}

/// A view of pinned memory that was only borrowed for the capture keeps the graph off all the same.
#[test]
fn a_closure_may_borrow_what_the_host_sees() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut pinned = PinnedBuffer::<u32>::zeros(&stream, 100, PinnedKind::Cached).unwrap();
        pinned.host_mut().unwrap().fill(1);
        let mut graph = Graph::capture(&stream, (), |()| pinned.as_slice_mut().fill_zero()).unwrap();
        let view = pinned.host().unwrap();
        assert!(matches!(graph.launch(), Err(Error::GraphHostAccess)));
        assert_eq!(view[..], [1; 100]);
        drop(view);
        graph.launch().unwrap();
        assert_eq!(pinned.host().unwrap()[..], [0; 100]);
        graph.launch().unwrap();
        drop(pinned);
        graph.launch().unwrap();
    }
}

#[cfg(feature = "sim")]
#[test]
fn memory_is_freed_with_the_last_that_uses_it() {
    let device = Device::open("sim").unwrap();
    let stream = device.stream().unwrap();
    let free = || device.memory_info().unwrap().0;
    let before = free();
    let mut graph = Work::graph(&stream, &[1; 10_000]);
    let with_one = free();
    *graph.resources_mut() = Work::new(&stream, &[1; 10_000]);
    assert!(free() < with_one, "the graph still has the old memory");
    graph.update(Work::record).unwrap();
    assert_eq!(free(), with_one);
    let failed = graph.update(|work| {
        work.record()?;
        Err(Error::StreamMismatch { what: "nothing" })
    });
    assert!(failed.is_err());
    let work = graph.into_resources();
    assert_eq!(free(), with_one);
    let graph = Graph::capture(&stream, work, Work::record).unwrap();
    drop(graph);
    assert_eq!(free(), before);
}

#[test]
fn order_of_drops() {
    for selector in devices().iter().map(|device| &device.properties().selector) {
        let make = || {
            let device = Device::open(selector).unwrap();
            let stream = device.stream().unwrap();
            let resources = (SlowCopy::new(&stream), stream.upload(&[1u32; 100]).unwrap());
            let output = PinnedBuffer::<u32>::zeros(&stream, 100, PinnedKind::Cached).unwrap();
            let graph =
                Graph::capture(&stream, (resources, output), |((slow, x), y)| slow.run(x.as_slice(), y.as_slice_mut()));
            (device, stream, graph.unwrap())
        };
        // The graph last, on another thread, while a launch runs.
        let (device, stream, mut graph) = make();
        graph.launch().unwrap();
        drop((stream, device));
        thread::spawn(move || {
            graph.launch().unwrap();
            assert_eq!(graph.resources().1.host().unwrap(), [1; 100]);
            graph.launch().unwrap();
        })
        .join()
        .unwrap();
        // The graph first, and then what it worked on.
        let (device, stream, mut graph) = make();
        graph.launch().unwrap();
        let ((slow, x), y) = graph.into_resources();
        drop((device, stream, slow, x));
        assert_eq!(y.host().unwrap(), [1; 100]);
        // Forgotten.
        let (device, stream, mut graph) = make();
        graph.launch().unwrap();
        std::mem::forget(graph);
        stream.synchronize().unwrap();
        drop((stream, device));
        // A graph that is a resource of another, which replaces it while it runs.
        let (_device, stream, mut graph) = make();
        graph.launch().unwrap();
        let mut outer = Graph::capture(&stream, Some(graph), |inner| {
            *inner = None;
            Ok::<_, Error>(())
        })
        .unwrap();
        outer.launch().unwrap();
        assert!(outer.into_resources().is_none());
    }
}

/// Each graph goes on with what it captured, whichever resources it has by then, and stays on its stream.
#[test]
fn a_graph_on_the_wrong_stream_is_refused() {
    for device in devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let captured = Graph::capture(&stream, Work::new(&other, &[0, 1]), Work::record);
        let error = captured.unwrap_err();
        assert!(matches!(error, Error::Capturing { .. }) && error.to_string().contains("other streams"), "{error}");
        // Nothing at all is a graph.
        Graph::capture(&stream, (), |()| Ok::<_, Error>(())).unwrap().launch().unwrap();
    }
}

#[test]
fn graphs_of_two_streams_whose_resources_are_swapped() {
    for device in devices() {
        let graph = |x| Work::graph(&device.stream().unwrap(), &[0, x]);
        let (mut ones, mut twos) = (graph(1), graph(2));
        std::mem::swap(ones.resources_mut(), twos.resources_mut());
        ones.launch().unwrap();
        ones.launch().unwrap();
        assert_eq!((sum_of(&ones), sum_of(&twos)), (vec![0, 0], vec![0, 2]));
        // The work is on memory of the other stream now: it was done, and not captured.
        assert!(matches!(twos.update(Work::record), Err(Error::Capturing { .. })));
        assert_eq!(sum_of(&twos), [0, 3]);
        // All of that memory outlives the graph that is asked for it.
        drop(twos);
        ones.launch().unwrap();
        ones.stream().synchronize().unwrap();
        assert_eq!(ones.into_resources().y.download().unwrap(), [7, 7]);
    }
}

/// Whatever a test needs to try everything that a capture refuses.
struct Everything {
    device: DeviceBuffer<u32>,
    pinned: PinnedBuffer<u32>,
    unified: UnifiedBuffer<u32>,
    value: HostValue<u32>,
    inner: Graph<()>,
    other: Stream,
}

impl Everything {
    fn new(stream: &Stream) -> Everything {
        Everything {
            device: stream.upload(&[1, 2, 3]).unwrap(),
            pinned: PinnedBuffer::zeros(stream, 3, PinnedKind::Cached).unwrap(),
            unified: UnifiedBuffer::zeros(stream, 3, Attach::Global).unwrap(),
            value: HostValue::new(stream),
            inner: Graph::capture(stream, (), |()| Ok::<_, Error>(())).unwrap(),
            other: stream.device().stream().unwrap(),
        }
    }
}

type Attempt = fn(&mut Everything) -> Result<()>;

const REFUSED: [(&str, Attempt); 20] = [
    ("synchronize", |all| all.device.stream().synchronize()),
    ("download", |all| all.device.download().map(drop)),
    ("copy_from", |all| all.device.as_slice_mut().copy_from(&[1, 2, 3])),
    ("scope, to the device", |all| {
        let stream = all.device.stream().clone();
        stream.scope(|scope| scope.copy_to_device(&[1, 2, 3], all.device.as_slice_mut()))
    }),
    ("scope, to the host", |all| {
        let mut host = [0; 3];
        all.device.stream().scope(|scope| scope.copy_to_host(all.device.as_slice(), &mut host))
    }),
    ("upload", |all| all.device.stream().upload(&[1u32]).map(drop)),
    ("alloc_uninit", |all| all.device.stream().alloc_uninit::<u32>(1).map(drop)),
    ("alloc_zeros", |all| all.device.stream().alloc_zeros::<u32>(1).map(drop)),
    ("grow_uninit", |all| all.device.grow_uninit(4)),
    ("grow_zeros", |all| all.device.grow_zeros(4)),
    ("unified", |all| UnifiedBuffer::<u32>::zeros(all.device.stream(), 1, Attach::Host).map(drop)),
    ("record", |all| all.device.stream().record().map(drop)),
    ("wait", |all| all.device.stream().wait(&all.other.record()?)),
    ("move away", |all| all.device.move_to(&all.other.clone())),
    ("move here", |all| all.other.alloc_zeros::<u32>(1)?.move_to(all.device.stream())),
    ("host view of pinned memory", |all| all.pinned.host().map(drop)),
    ("host view of unified memory", |all| all.unified.host_mut().map(drop)),
    ("value", |all| all.value.wait().map(drop)),
    ("launch", |all| all.inner.launch()),
    ("another capture", |all| Graph::capture(&all.other.clone(), (), |()| Ok::<_, Error>(())).map(drop)),
];

#[test]
fn what_cannot_be_captured_is_refused_and_the_stream_goes_on() {
    for device in devices() {
        let stream = device.stream().unwrap();
        for (name, attempt) in REFUSED {
            // What was captured before is thrown away.
            let refused = Graph::capture(&stream, Everything::new(&stream), move |all| {
                all.value.slot()?.fill_zero()?;
                attempt(all)
            });
            match refused {
                Err(error @ Error::Capturing { .. }) => {
                    let text = error.to_string();
                    assert!(text.contains("captured into a graph") && text.contains("cannot be a part"), "{text}");
                }
                other => panic!("{name} on {device:?}: {other:?}"),
            }
            // The same outside of a capture.
            attempt(&mut Everything::new(&stream)).unwrap_or_else(|error| panic!("{name} on {device:?}: {error}"));
        }
        // The error need not end the closure.
        let graph = Graph::capture(&stream, Everything::new(&stream), |all| {
            for (_, attempt) in REFUSED {
                assert!(attempt(all).is_err());
            }
            all.pinned.as_slice_mut().copy_from_slice(all.device.as_slice())
        });
        let mut graph = graph.unwrap();
        graph.launch().unwrap();
        assert_eq!(graph.resources().pinned.host().unwrap(), [1, 2, 3]);
    }
}

#[test]
fn scratch_memory_says_to_reserve() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let buffer = stream.alloc_zeros::<u32>(4).unwrap();
        let error = Graph::capture(&stream, buffer, |scratch| scratch.grow_zeros(5)).unwrap_err();
        assert!(error.to_string().contains("`reserve`"), "{error}");
    }
}

#[test]
fn a_panic_ends_the_capture() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            Graph::capture(&stream, Work::new(&stream, &[1; 10]), |work| -> Result<()> {
                work.record()?;
                panic!("on purpose")
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(stream.upload(&[1u32]).unwrap().download().unwrap(), [1]);
        Work::graph(&stream, &[1; 10]).launch().unwrap();
    }
}

#[test]
fn work_elsewhere_is_done_as_always() {
    struct Two {
        here: DeviceBuffer<u32>,
        there: DeviceBuffer<u32>,
        source: DeviceBuffer<u32>,
    }
    for device in devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let two = Two {
            here: stream.alloc_zeros(3).unwrap(),
            there: other.alloc_zeros(3).unwrap(),
            source: stream.upload(&[1, 2, 3]).unwrap(),
        };
        let mut graph = Graph::capture(&stream, two, |Two { here, there, source }| {
            here.as_slice_mut().copy_from_slice(source.as_slice())?;
            // On another stream of this thread.
            there.as_slice_mut().copy_from(&[4, 5, 6])?;
            assert_eq!(there.download()?, [4, 5, 6]);
            there.as_slice_mut().fill_zero()?;
            let mut here_too = there.stream().upload(&[7u32])?;
            here_too.grow_zeros(100)?;
            there.stream().synchronize()?;
            // On another thread, for the same stream. Not captured, so done; and the graph does it no more.
            thread::scope(|threads| {
                let work = || {
                    assert_eq!(here.download()?, [0; 3]);
                    let buffer = here.stream().upload(&[8u32; 1000])?;
                    assert_eq!(buffer.download()?, [8; 1000]);
                    here.as_slice_mut().fill_zero()
                };
                threads.spawn(work).join().unwrap()
            })?;
            // Memory is freed on the stream, and not in the graph.
            *source = there.stream().alloc_zeros(0)?;
            Ok::<_, Error>(())
        })
        .unwrap();
        let others: Vec<_> = (0..4).map(|_| stream.upload(&[9u32; 3]).unwrap()).collect();
        for _ in 0..2 {
            graph.launch().unwrap();
            assert_eq!(graph.resources().here.download().unwrap(), [1, 2, 3]);
            graph.resources_mut().here.as_slice_mut().fill_zero().unwrap();
        }
        assert!(others.iter().all(|other| other.download().unwrap() == [9; 3]));
        assert_eq!(graph.resources().there.download().unwrap(), [0; 3]);
    }
}

#[test]
fn two_threads_capture_at_once() {
    for device in devices() {
        let stream = device.stream().unwrap();
        thread::scope(|threads| {
            for thread in 0..4u32 {
                let stream = if thread % 2 == 0 { stream.clone() } else { device.stream().unwrap() };
                threads.spawn(move || {
                    for round in 0..10 {
                        let value = 1 + thread * 100 + round;
                        let mut graph = Work::graph(&stream, &[value; 500]);
                        for _ in 0..3 {
                            graph.launch().unwrap();
                        }
                        assert_eq!(sum_of(&graph)[1..], [3 * value; 499]);
                    }
                });
            }
        });
    }
}

#[test]
fn a_kernel_may_be_loaded_and_pinned_memory_allocated_while_capturing() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let resources = (stream.upload(&[5u32]).unwrap(), HostValue::<u32>::new(&stream));
        let mut graph = Graph::capture(&stream, resources, |(x, value)| {
            let add = Add::new(x.stream());
            // Unloaded at the end, without having been launched.
            let _unused = SlowCopy::new(x.stream());
            add.add(x.as_slice(), value.slot()?)
        })
        .unwrap();
        for round in 1..4 {
            graph.launch().unwrap();
            assert_eq!(graph.resources_mut().1.wait().unwrap(), 5 * round);
        }
    }
}

#[test]
fn a_buffer_of_a_graph_stays_on_its_stream() {
    for device in devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let resources =
            (stream.upload(&[1u32, 2]).unwrap(), PinnedBuffer::zeros(&stream, 2, PinnedKind::Cached).unwrap());
        let mut graph = Graph::capture(&stream, resources, |(device, pinned): &mut (_, PinnedBuffer<u32>)| {
            let device: &mut DeviceBuffer<u32> = device;
            pinned.as_slice_mut().copy_from_slice(device.as_slice())
        })
        .unwrap();
        let (buffer, pinned) = graph.resources_mut();
        for moved in [buffer.move_to(&other), pinned.move_to(&other)] {
            let error = moved.unwrap_err();
            assert!(matches!(error, Error::InGraph { .. }), "{error}");
        }
        graph.launch().unwrap();
        assert_eq!(graph.resources().1.host().unwrap(), [1, 2]);
        let (mut buffer, mut pinned) = graph.into_resources();
        buffer.move_to(&other).unwrap();
        pinned.move_to(&other).unwrap();
        assert_eq!(buffer.download().unwrap(), pinned.host().unwrap()[..]);
    }
}

#[test]
fn buffers_of_another_stream_are_refused() {
    for device in devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let resources = (stream.upload(&[1u32]).unwrap(), other.upload(&[2u32]).unwrap());
        let graph = Graph::capture(&stream, resources, |(x, y)| x.as_slice_mut().copy_from_slice(y.as_slice()));
        assert!(matches!(graph, Err(Error::StreamMismatch { .. })));
    }
}

/// A slow kernel writes to the memory: who looks too early sees what was there before.
#[test]
fn the_host_sees_what_the_last_launch_has_written() {
    struct Outputs {
        slow: SlowCopy,
        x: DeviceBuffer<u32>,
        pinned: PinnedBuffer<u32>,
        unified: UnifiedBuffer<u32>,
        value: HostValue<u32>,
    }
    for device in devices() {
        let stream = device.stream().unwrap();
        let outputs = Outputs {
            slow: SlowCopy::new(&stream),
            x: stream.alloc_zeros(1).unwrap(),
            pinned: PinnedBuffer::zeros(&stream, 1, PinnedKind::Cached).unwrap(),
            unified: UnifiedBuffer::zeros(&stream, 1, Attach::Host).unwrap(),
            value: HostValue::new(&stream),
        };
        let mut graph = Graph::capture(&stream, outputs, |Outputs { slow, x, pinned, unified, value }| {
            for to in [pinned.as_slice_mut(), unified.as_slice_mut(), value.slot()?] {
                slow.run(x.as_slice(), to)?;
            }
            Ok::<_, Error>(())
        })
        .unwrap();
        for round in 1..8 {
            graph.resources_mut().x.as_slice_mut().copy_from(&[round]).unwrap();
            graph.launch().unwrap();
            let outputs = graph.resources_mut();
            match round % 4 {
                0 => assert_eq!(outputs.pinned.host().unwrap(), [round]),
                1 => assert_eq!(outputs.unified.host_mut().unwrap()[..], [round]),
                2 => assert_eq!(outputs.value.wait().unwrap(), round),
                _ => outputs.pinned.host_mut().unwrap()[0] = 1000,
            }
        }
    }
}

/// The host has memory of a graph in hand, reached another way.
#[test]
fn no_launch_while_the_host_looks() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let pinned = PinnedBuffer::<u32>::zeros(&stream, 3, PinnedKind::Cached).unwrap();
        let unified = UnifiedBuffer::<u32>::zeros(&stream, 3, Attach::Global).unwrap();
        let shared = Arc::new((Mutex::new(pinned), Mutex::new(unified), stream.upload(&[1u32, 2, 3]).unwrap()));
        let mut graph = Graph::capture(&stream, Arc::clone(&shared), |shared| {
            let (pinned, unified, source) = &**shared;
            lock(pinned).as_slice_mut().copy_from_slice(source.as_slice())?;
            lock(unified).as_slice_mut().copy_from_slice(lock(pinned).as_slice())
        })
        .unwrap();
        let refused = |graph: &mut Graph<_>| {
            let error = graph.launch().unwrap_err();
            assert!(matches!(error, Error::GraphHostAccess), "{error}");
        };
        let pinned = lock(&shared.0);
        let mut unified = lock(&shared.1);
        {
            let (first, second) = (pinned.host().unwrap(), pinned.host().unwrap());
            refused(&mut graph);
            assert_eq!((&first[..], &second[..]), (&[0; 3][..], &[0; 3][..]));
            drop(first);
            refused(&mut graph);
        }
        {
            let mut view = unified.host_mut().unwrap();
            refused(&mut graph);
            view[0] = 5;
            assert_eq!(view, [5, 0, 0]);
        }
        graph.launch().unwrap();
        assert_eq!(pinned.host().unwrap(), [1, 2, 3]);
        assert_eq!(unified.host().unwrap(), [1, 2, 3]);
        graph.launch().unwrap();
        // A view that is forgotten is never closed.
        std::mem::forget(pinned.host().unwrap());
        refused(&mut graph);
        refused(&mut graph);
        assert_eq!(unified.host().unwrap(), [1, 2, 3]);
    }
}

/// Views and launches from two threads: a view never changes while it is open.
#[test]
fn views_and_launches_take_turns() {
    const LEN: usize = 200;
    for device in devices() {
        let stream = device.stream().unwrap();
        let output = Arc::new(Mutex::new(PinnedBuffer::<u32>::zeros(&stream, LEN, PinnedKind::Cached).unwrap()));
        let resources = (Add::new(&stream), stream.upload(&[1u32; LEN]).unwrap(), Arc::clone(&output));
        let mut graph =
            Graph::capture(&stream, resources, |(add, x, output)| add.add(x.as_slice(), lock(output).as_slice_mut()))
                .unwrap();
        let mut launched = 0;
        thread::scope(|threads| {
            let reader = threads.spawn(|| {
                for _ in 0..300 {
                    let output = lock(&output);
                    let view = output.host().unwrap();
                    let seen = view[0];
                    assert!(view.iter().all(|&value| value == seen));
                    thread::yield_now();
                    assert!(view.iter().all(|&value| value == seen));
                }
            });
            while !reader.is_finished() {
                match graph.launch() {
                    Ok(()) => launched += 1,
                    Err(Error::GraphHostAccess) => thread::yield_now(),
                    Err(error) => panic!("{error}"),
                }
            }
            reader.join().unwrap();
        });
        assert_eq!(lock(&output).host().unwrap(), [launched; LEN]);
    }
}

/// Another thread launches the graph and drops it. What that has written the buffer's number of owners tells, and
/// nothing else: a relaxed store orders nothing.
#[test]
fn the_host_sees_what_a_graph_has_written_that_is_gone() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let output = Arc::new(Mutex::new(PinnedBuffer::<u32>::zeros(&stream, 1, PinnedKind::Cached).unwrap()));
        let resources = (stream.upload(&[9u32]).unwrap(), Arc::clone(&output));
        let mut graph =
            Graph::capture(&stream, resources, |(x, output)| lock(output).as_slice_mut().copy_from_slice(x.as_slice()))
                .unwrap();
        let output = lock(&output);
        let is_gone = AtomicBool::new(false);
        thread::scope(|threads| {
            threads.spawn(|| {
                graph.launch().unwrap();
                drop(graph);
                is_gone.store(true, Ordering::Relaxed);
            });
            while !is_gone.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            assert_eq!(output.host().unwrap(), [9]);
        });
    }
}

#[cfg(feature = "sim")]
#[test]
fn without_concurrent_managed_access() {
    let stream = Device::open("sim:managed=exclusive").unwrap().stream().unwrap();
    let unified = UnifiedBuffer::<u32>::zeros(&stream, 3, Attach::Global).unwrap();
    let resources = (stream.alloc_zeros::<u32>(3).unwrap(), unified);
    let graph = Graph::capture(&stream, resources, |(x, unified)| x.as_slice_mut().copy_from_slice(unified.as_slice()));
    match graph {
        Err(error @ Error::Unsupported { .. }) => assert!(error.to_string().contains("Use pinned memory"), "{error}"),
        other => panic!("{other:?}"),
    }
    // A view of other memory keeps work off the stream, also that of graphs.
    let mut graph = Work::graph(&stream, &[1; 3]);
    let unified = UnifiedBuffer::<u32>::zeros(&stream, 3, Attach::Global).unwrap();
    let view = unified.host().unwrap();
    assert!(matches!(graph.launch(), Err(Error::HostAccess { .. })));
    // A capture is no work.
    graph.update(Work::record).unwrap();
    drop(view);
    graph.launch().unwrap();
    assert_eq!(sum_of(&graph), [0, 1, 1]);
}

#[cfg(feature = "sim")]
#[test]
fn the_simulator_counts_launches_of_a_graph_as_any() {
    let device = Device::open("sim").unwrap();
    let stream = device.stream().unwrap();
    let mut work = Work::new(&stream, &[1; 1000]);
    let _ = device.take_counters();
    work.record().unwrap();
    let plain = device.take_counters();
    let mut graph = Graph::capture(&stream, work, Work::record).unwrap();
    let capture = device.take_counters().unwrap();
    assert_eq!(capture.instructions, 0);
    graph.launch().unwrap();
    assert_eq!(device.take_counters(), plain);
}

#[test]
fn a_fault_in_a_graph_is_that_of_its_kernel() {
    for device in devices().iter().filter(|device| device.properties().backend == BackendKind::Sim) {
        let stream = device.stream().unwrap();
        let resources = (Work::new(&stream, &[1; 100]), stream.alloc_uninit::<u32>(100).unwrap());
        let mut graph = Graph::capture(&stream, resources, |(work, unwritten)| {
            work.record()?;
            // The simulator finds that nobody wrote what is read here.
            work.add.add(unwritten.as_slice(), work.sum.as_slice_mut())?;
            work.x.as_slice_mut().fill_zero()
        })
        .unwrap();
        for round in 1..3 {
            let error = graph.launch().unwrap_err();
            assert!(matches!(&error, Error::Fault(fault) if fault.to_string().contains("add")), "{error}");
            // The work before it is done, that after it is not.
            assert_eq!(graph.resources().0.x.download().unwrap(), [1; 100]);
            assert_eq!(graph.resources().0.sum.download().unwrap()[1], round);
        }
        graph.resources_mut().1.as_slice_mut().copy_from(&[5; 100]).unwrap();
        graph.launch().unwrap();
        assert_eq!(graph.resources().0.sum.download().unwrap()[1], 8);
        assert_eq!(graph.resources().0.x.download().unwrap(), [0; 100]);
    }
}
