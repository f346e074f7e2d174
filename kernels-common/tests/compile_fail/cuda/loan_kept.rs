//! A lent slice is used after the loan has ended.

use cudarc::driver::CudaSlice;
use kernels_common::{error::Error, error::Result, stream::Stream};

pub fn test(stream: &Stream, theirs: &CudaSlice<f32>) -> Result<Vec<f32>> {
    let slice = stream.lend(&theirs.as_view(), |slice| Ok::<_, Error>(slice))?;
    slice.download()
}

fn main() {}
