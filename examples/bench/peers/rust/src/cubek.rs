//! cubek-reduce, on cubecl's CUDA runtime.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use cubecl::Runtime;
use cubecl::cuda::{CudaDevice, CudaRuntime};
use cubecl::future::block_on;
use cubecl::ir::{ElemType, FloatKind, StorageType};
use cubecl::prelude::{ComputeClient, TensorBinding};
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use cubek_reduce::components::instructions::ReduceOperationConfig;
use cubek_reduce::launch::{RoutineStrategy, VectorizationStrategy};
use cubek_reduce::routines::BlueprintStrategy;
use cubek_reduce::routines::cube::CubeStrategy;
use cubek_reduce::routines::plane::PlaneStrategy;
use cubek_reduce::{ReduceStrategy, reduce, shared_sum};
use cudarc::driver::{CudaContext, result};

use crate::input::Numbers;
use crate::size::Size;
use crate::timing::{Mode, Plan, Summary, Work, median, sample};
use crate::{Dtype, Measurement, Operation, Options, Report, note};

type Client = ComputeClient<CudaRuntime>;

const F32: ElemType = ElemType::Float(FloatKind::F32);

/// Enough to tell which way is the fastest.
const TRIAL: Plan = Plan { rounds: 2, limit: Duration::ZERO };

/// Whether it is measured here.
///
/// # Errors
/// That it is not.
pub fn check(operations: &[Operation], types: &[Dtype]) -> Result<()> {
    ensure!(
        operations.iter().all(|&operation| operation == Operation::Sum)
            && types.iter().all(|&dtype| dtype == Dtype::F32),
        "cubek-reduce is measured for sums of f32 alone: `cubek sum --types f32`"
    );
    Ok(())
}

/// Measures sums of f32 at the sizes that the options ask for.
///
/// # Errors
/// No device, no memory.
pub fn measure(options: &Options) -> Result<Report> {
    let sizes = options.sizes(Operation::Sum)?;
    let client = CudaRuntime::client(&CudaDevice::default());
    let largest = sizes.iter().map(|size| size.elements()).max().unwrap_or(0);
    let numbers = Numbers::random(largest, options.seed);
    let input = upload(&client, &numbers.elements::<f32>())?;
    let mut report = Report::default();
    for &size in &sizes {
        let n = size.elements();
        let at_size = || -> Result<Vec<Measurement>> {
            let right = numbers.sum::<f32>(n)?;
            let unused = input.size_in_used() - bytes(n);
            let part = input.clone().offset_end(unused);
            let measure = |&mode: &Mode| -> Result<Measurement> {
                let way = fastest(&client, &part, n, right, mode)?;
                let mut call = Call::new(&client, &part, n, way);
                let us = Summary::of(&sample(&mut call, mode, options.plan())?);
                let (operation, dtype) = (Operation::Sum, Dtype::F32);
                Ok(Measurement { operation, dtype, mode, size: size.to_string(), us, way: Some(way.to_string()) })
            };
            options.mode.iter().map(measure).collect()
        };
        report.add(Operation::Sum, Dtype::F32, size, at_size());
    }
    Ok(report)
}

/// Bytes of so many elements.
fn bytes(n: usize) -> u64 {
    (n * size_of::<f32>()) as u64
}

/// Memory of cubecl's with these values. cubecl would copy them on the host several times.
fn upload(client: &Client, values: &[f32]) -> Result<Handle> {
    let handle = client.empty(size_of_val(values));
    let resource = client.get_resource(handle.clone()).map_err(|error| anyhow!("{error}"))?;
    wait(client)?;
    CudaContext::new(0)?.bind_to_thread()?;
    // SAFETY: the memory is of that size, is in the device's primary context, which is current, and no work is left
    // that uses it.
    unsafe { result::memcpy_htod_sync(resource.resource().ptr, values) }?;
    Ok(handle)
}

fn wait(client: &Client) -> Result<()> {
    block_on(client.sync()).map_err(|error| anyhow!("{error}"))
}

/// A way to add up all elements of a slice.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// By one cube.
    Cube,
    /// Cut into rows, a cube for each; then by one cube.
    Cubes(usize),
    /// Cut into rows, a plane for each; then by one cube.
    Planes(usize),
    /// `shared_sum`: by so many cubes, each of which adds to the result, which is cleared before.
    Atomics(u32),
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Cube => f.write_str("one cube"),
            Way::Cubes(rows) => write!(f, "{rows} cubes, then one"),
            Way::Planes(rows) => write!(f, "{rows} planes, then one cube"),
            Way::Atomics(cubes) => write!(f, "shared_sum with {cubes} cubes"),
        }
    }
}

/// The ways to try for `n` elements: all that may be the fastest.
fn ways(n: usize) -> Vec<Way> {
    let mut ways = Vec::new();
    if n <= 1 << 22 {
        ways.push(Way::Cube);
    }
    let rows = |counts: &[usize], least: usize| -> Vec<usize> {
        counts.iter().copied().filter(|&rows| n.is_multiple_of(rows) && n / rows >= least).collect()
    };
    ways.extend(rows(&[64, 256, 1024, 4096, 16384], 256).into_iter().map(Way::Cubes));
    ways.extend(rows(&[256, 1024, 4096, 16384, 65536], 128).into_iter().map(Way::Planes));
    // Cubes have 256 units, and a unit so many vectors. The kernel is compiled for each of these numbers.
    let vector = [4, 2, 1].into_iter().find(|&vector| n.is_multiple_of(vector)).unwrap_or(1);
    for vectors in [1, 4, 16, 64] {
        let cubes = n.div_ceil(256 * vector * vectors);
        if cubes <= 1 << 20 && (vectors == 1 || cubes > 1) {
            ways.push(Way::Atomics(cubes as u32));
        }
    }
    ways
}

/// The fastest of the ways that are right; what is wrong or fails is left out, with a note.
fn fastest(client: &Client, input: &Handle, n: usize, right: f64, mode: Mode) -> Result<Way> {
    let mut fastest: Option<(f64, Way)> = None;
    for way in ways(n) {
        let mut call = Call::new(client, input, n, way);
        let mut trial = || -> Result<f64> {
            let value = call.value()?;
            ensure!(f64::from(value) == right, "the result is {value} instead of {right}");
            Ok(median(&sample(&mut call, mode, TRIAL)?))
        };
        match trial() {
            Ok(us) if fastest.is_none_or(|(least, _)| us < least) => fastest = Some((us, way)),
            Ok(_) => {}
            Err(error) => {
                // After a compiler's error cubecl gives the whole kernel.
                let text = format!("{error:#}");
                let text = text.split("\n[Source]").next().unwrap_or_default();
                note(Operation::Sum, Dtype::F32, Size::Vector(n), format!("without {way}: {text}"));
            }
        }
    }
    fastest.map(|(_, way)| way).ok_or_else(|| anyhow!("no strategy works"))
}

/// A sum that is ready to be called.
struct Call<'a> {
    client: &'a Client,
    input: Handle,
    n: usize,
    way: Way,
    partials: Handle,
    output: Handle,
}

impl<'a> Call<'a> {
    fn new(client: &'a Client, input: &Handle, n: usize, way: Way) -> Call<'a> {
        let rows = match way {
            Way::Cubes(rows) | Way::Planes(rows) => rows,
            Way::Cube | Way::Atomics(_) => 1,
        };
        let [partials, output] = [rows, 1].map(|n| client.empty(n * size_of::<f32>()));
        Call { client, input: input.clone(), n, way, partials, output }
    }

    /// Adds up each row of a matrix.
    fn rows(
        &self,
        input: &Handle,
        rows: usize,
        columns: usize,
        output: &Handle,
        routine: RoutineStrategy,
    ) -> Result<()> {
        // SAFETY: the memory holds so many elements, row after row.
        let input = unsafe { matrix(input, rows, columns) };
        // SAFETY: it holds one for each row.
        let output = unsafe { matrix(output, rows, 1) };
        let vectorization = VectorizationStrategy { parallel_output_vectorization: false };
        let strategy = ReduceStrategy { routine, vectorization };
        let sum = ReduceOperationConfig::Sum;
        Ok(reduce::<CudaRuntime>(self.client, input, output, 1, strategy, sum, sum.precision(F32, None))?)
    }

    /// A call, and its value.
    fn value(&mut self) -> Result<f32> {
        self.queue()?;
        let bytes = self.client.read_one(self.output.clone()).map_err(|error| anyhow!("{error}"))?;
        let value = bytes.first_chunk().ok_or_else(|| anyhow!("the result has {} bytes", bytes.len()))?;
        Ok(f32::from_ne_bytes(*value))
    }
}

/// Memory as a matrix, row after row.
///
/// # Safety
/// It holds so many elements.
unsafe fn matrix(handle: &Handle, rows: usize, columns: usize) -> TensorBinding<CudaRuntime> {
    // SAFETY: by the caller.
    unsafe { TensorBinding::from_raw_parts(handle.clone(), [columns, 1].into(), [rows, columns].into()) }
}

fn cube() -> RoutineStrategy {
    RoutineStrategy::Cube(BlueprintStrategy::Inferred(CubeStrategy { use_planes: true }))
}

fn plane() -> RoutineStrategy {
    RoutineStrategy::Plane(BlueprintStrategy::Inferred(PlaneStrategy { independent: true }))
}

impl Work for Call<'_> {
    // The clock is the host's, as cubecl keeps its stream to itself: longer batches make the wait at the end small.
    const QUEUED: (f64, usize) = (10_000.0, 1000);

    fn queue(&mut self) -> Result<()> {
        let (input, partials, output, n) = (&self.input, &self.partials, &self.output, self.n);
        match self.way {
            Way::Cube => self.rows(input, 1, n, output, cube())?,
            Way::Cubes(rows) => {
                self.rows(input, rows, n / rows, partials, cube())?;
                self.rows(partials, 1, rows, output, cube())?;
            }
            Way::Planes(rows) => {
                self.rows(input, rows, n / rows, partials, plane())?;
                self.rows(partials, 1, rows, output, cube())?;
            }
            Way::Atomics(cubes) => {
                let zero = TensorHandle::<CudaRuntime>::zeros(self.client, [1], StorageType::Scalar(F32));
                self.output = zero.handle.clone();
                // SAFETY: the memory holds so many elements.
                let input = unsafe { matrix(&self.input, 1, n) };
                shared_sum(self.client, input, zero.binding(), cubes, F32)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        black_box(self.value()?);
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        wait(self.client)
    }

    fn queued_us(&mut self, calls: usize) -> Result<f64> {
        self.wait()?;
        let start = Instant::now();
        for _ in 0..calls {
            self.queue()?;
        }
        self.wait()?;
        Ok(start.elapsed().as_secs_f64() * 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_ways_that_cover_it() {
        for n in [1, 1000, 1023, 1 << 10, 1 << 20, (1 << 24) + 2, 1 << 30] {
            let ways = ways(n);
            assert!(!ways.is_empty(), "{n}");
            for way in ways {
                match way {
                    Way::Cube => assert!(n <= 1 << 22),
                    Way::Cubes(rows) | Way::Planes(rows) => assert_eq!(n % rows, 0, "{n}"),
                    // One kernel for each number of vectors, whatever the size.
                    Way::Atomics(cubes) => {
                        let vector = if n % 4 == 0 { 4 } else { 1 + usize::from(n % 2 == 0) };
                        let vectors = n.div_ceil(cubes as usize * 256 * vector);
                        assert!([1, 4, 16, 64].contains(&vectors) || n < 1 << 20, "{n}: {vectors}");
                    }
                }
            }
        }
    }
}
