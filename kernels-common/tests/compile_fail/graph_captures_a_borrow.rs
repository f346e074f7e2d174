//! A graph captures work on a buffer that somebody else owns.

use kernels_common::{error::Result, graph::Graph, memory::DeviceBuffer};

pub fn test(from: &DeviceBuffer<f32>, to: DeviceBuffer<f32>) -> Result<Graph<DeviceBuffer<f32>>> {
    let stream = from.stream().clone();
    Graph::capture(&stream, to, |to| to.as_slice_mut().copy_from_slice(from.as_slice()))
}

fn main() {}
