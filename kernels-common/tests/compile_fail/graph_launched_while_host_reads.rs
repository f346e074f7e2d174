//! A graph runs while the host reads the pinned memory that it writes.

use kernels_common::{error::Result, graph::Graph, memory::PinnedBuffer};

pub fn test(graph: &mut Graph<PinnedBuffer<f32>>) -> Result<f32> {
    let host = graph.resources().host()?;
    graph.launch()?;
    Ok(host[0])
}

fn main() {}
