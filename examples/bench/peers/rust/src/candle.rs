//! candle-core, as a program has it from `Device::new_cuda`.

use std::hint::black_box;
use std::marker::PhantomData;
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use candle_core::{Device, Tensor, WithDType};
use cudarc::driver::{CudaStream, sys::CUevent_flags};
use half::{bf16, f16};

use crate::input::{Element, Numbers};
use crate::size::Size;
use crate::timing::{Summary, Work, sample};
use crate::{Dtype, Measurement, Operation, Options, Report};

/// Whether candle computes what `bench` does.
///
/// # Errors
/// That it has no sums in a wider type than that of the elements.
pub fn check(operations: &[Operation], types: &[Dtype]) -> Result<()> {
    let reduces = operations.iter().find(|operation| matches!(operation, Operation::Sum | Operation::Dot));
    let narrow = types.iter().find(|dtype| matches!(dtype, Dtype::F16 | Dtype::BF16 | Dtype::I32));
    if let (Some(operation), Some(dtype)) = (reduces, narrow) {
        bail!(
            "candle computes a {operation} of {dtype} in {dtype}, and bench in a wider type: measure f32, f64 or i64"
        );
    }
    Ok(())
}

/// Measures what the options ask for.
///
/// # Errors
/// No device, no memory.
pub fn measure(options: &Options) -> Result<Report> {
    let device = Device::new_cuda(0)?;
    let mut report = Report::default();
    for &operation in &options.operations {
        let sizes = options.sizes(operation)?;
        for &dtype in &options.types {
            let series = match dtype {
                Dtype::F32 => series::<f32>,
                Dtype::F64 => series::<f64>,
                Dtype::F16 => series::<f16>,
                Dtype::BF16 => series::<bf16>,
                Dtype::I32 => series::<i32>,
                Dtype::I64 => series::<i64>,
            };
            series(options, &device, operation, dtype, &sizes, &mut report)?;
        }
    }
    Ok(report)
}

/// One operation on one type at all sizes.
fn series<T: Element + WithDType>(
    options: &Options,
    device: &Device,
    operation: Operation,
    dtype: Dtype,
    sizes: &[Size],
    report: &mut Report,
) -> Result<()> {
    let largest = sizes.iter().map(|size| size.elements()).max().unwrap_or(0);
    let second = if matches!(operation, Operation::Dot | Operation::VecAdd) { largest } else { 0 };
    let numbers = [(largest, options.seed), (second, !options.seed)].map(|(n, seed)| Numbers::random(n, seed));
    let upload = |numbers: &Numbers| Tensor::from_vec(numbers.elements::<T>(), numbers.len(), device);
    let (x, y) = (upload(&numbers[0])?, upload(&numbers[1])?);
    for &size in sizes {
        let at_size = || -> Result<Vec<Measurement>> {
            let n = size.elements();
            let call = match (operation, size) {
                (Operation::Dot, _) => Call::Dot(x.narrow(0, 0, n)?, y.narrow(0, 0, n)?),
                (Operation::VecAdd, _) => Call::Add(x.narrow(0, 0, n)?, y.narrow(0, 0, n)?),
                (Operation::Transpose, Size::Matrix(rows, columns)) => {
                    Call::Transpose(x.narrow(0, 0, n)?.reshape((rows, columns))?)
                }
                (Operation::Sum | Operation::Transpose, _) => Call::Sum(x.narrow(0, 0, n)?),
            };
            verify::<T>(&call, &numbers)?;
            let stream = device.as_cuda_device()?.cuda_stream();
            let mut work = Timed::<T> { call, device: device.clone(), stream, element: PhantomData };
            let measure = |&mode| -> Result<Measurement> {
                let us = Summary::of(&sample(&mut work, mode, options.plan())?);
                Ok(Measurement { operation, dtype, mode, size: size.to_string(), us, way: None })
            };
            options.mode.iter().map(measure).collect()
        };
        report.add(operation, dtype, size, at_size());
    }
    Ok(())
}

/// An operation and its inputs.
enum Call {
    Sum(Tensor),
    Dot(Tensor, Tensor),
    Add(Tensor, Tensor),
    Transpose(Tensor),
}

impl Call {
    fn run(&self) -> candle_core::Result<Tensor> {
        match self {
            Call::Sum(x) => x.sum_all(),
            Call::Dot(x, y) => (x * y)?.sum_all(),
            Call::Add(x, y) => x + y,
            Call::Transpose(x) => x.t()?.contiguous(),
        }
    }
}

/// Compares a result with the only one that is right.
fn verify<T: Element + WithDType>(call: &Call, [x, y]: &[Numbers; 2]) -> Result<()> {
    let result = call.run()?;
    let (value, right) = match call {
        Call::Sum(input) => (result.to_scalar::<T>()?, x.sum::<T>(input.elem_count())?),
        Call::Dot(input, _) => (result.to_scalar::<T>()?, x.dot::<T>(y, input.elem_count())?),
        Call::Add(..) => {
            for (index, &element) in result.to_vec1::<T>()?.iter().enumerate() {
                let right = x.element::<T>(index).value() + y.element::<T>(index).value();
                ensure!(element.value() == right, "element {index} is {element} instead of {right}");
            }
            return Ok(());
        }
        Call::Transpose(input) => {
            let (rows, columns) = input.dims2()?;
            let elements = result.flatten_all()?.to_vec1::<T>()?;
            ensure!(result.dims() == [columns, rows], "the shape is {:?}", result.dims());
            for (row, line) in elements.chunks_exact(rows).enumerate() {
                for (column, &element) in line.iter().enumerate() {
                    let right = x.element::<T>(column * columns + row);
                    ensure!(element == right, "element {column} of row {row} is {element} instead of {right}");
                }
            }
            return Ok(());
        }
    };
    ensure!(value.value() == right, "the result is {value} instead of {right}");
    Ok(())
}

/// What is timed.
struct Timed<T> {
    call: Call,
    device: Device,
    stream: Arc<CudaStream>,
    element: PhantomData<T>,
}

impl<T: WithDType> Work for Timed<T> {
    const QUEUED: (f64, usize) = (1000.0, 240);

    fn queue(&mut self) -> Result<()> {
        self.call.run()?;
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let result = self.call.run()?;
        match self.call {
            Call::Sum(_) | Call::Dot(..) => _ = black_box(result.to_scalar::<T>()?),
            Call::Add(..) | Call::Transpose(_) => self.device.synchronize()?,
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        Ok(self.device.synchronize()?)
    }

    fn queued_us(&mut self, calls: usize) -> Result<f64> {
        // The device is busy when the clock starts, so that the wait for a first call is in no time.
        self.queue()?;
        let start = self.stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        for _ in 0..calls {
            self.queue()?;
        }
        let end = self.stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
        Ok(f64::from(start.elapsed_ms(&end)?) * 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_in_a_narrow_type_are_refused() {
        assert!(check(&[Operation::Sum, Operation::Dot], &[Dtype::F32, Dtype::F64, Dtype::I64]).is_ok());
        assert!(check(&[Operation::VecAdd, Operation::Transpose], &[Dtype::F16, Dtype::I32]).is_ok());
        let text = check(&[Operation::VecAdd, Operation::Dot], &[Dtype::F32, Dtype::BF16]).unwrap_err().to_string();
        assert!(text.contains("dot of bf16"), "{text}");
    }

    #[test]
    fn a_wrong_result_is_named() {
        // On candle's own processor: the operations are the same.
        let numbers = [Numbers::random(60, 1), Numbers::random(60, 2)];
        let [x, y] = [0, 1].map(|i| Tensor::from_vec(numbers[i].elements::<f32>(), 60, &Device::Cpu).unwrap());
        let matrix = x.reshape((5, 12)).unwrap();
        let calls = [Call::Sum(x.clone()), Call::Dot(x.clone(), y.clone()), Call::Add(x, y), Call::Transpose(matrix)];
        for call in calls {
            verify::<f32>(&call, &numbers).unwrap();
            let others = [Numbers::random(60, 3), Numbers::random(60, 4)];
            assert!(verify::<f32>(&call, &others).unwrap_err().to_string().contains("instead of"));
        }
    }
}
