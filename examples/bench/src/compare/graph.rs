//! Calls recorded into a CUDA graph, which the device then runs without the host.
//!
//! Whatever is given to the driver's stream is recorded, by whichever library: [`kernels_common::graph`] captures the
//! runtime's own work alone.

use anyhow::{Context, Result};
use cudarc::driver::result;
use cudarc::driver::sys::{CUgraph, CUgraphExec, CUgraphInstantiate_flags, CUstream, CUstreamCaptureMode};
use kernels_common::stream::Stream;

/// A graph that can be launched on the stream that it was recorded from.
#[derive(Debug)]
pub(crate) struct Graph {
    graph: CUgraph,
    executable: CUgraphExec,
    handle: CUstream,
    stream: Stream,
}

impl Graph {
    /// Records what `work` gives to the stream.
    ///
    /// # Errors
    /// The error of `work`; that the stream is no GPU's; that the driver cannot record something of it.
    ///
    /// # Safety
    /// `work` neither allocates nor frees memory of the stream, and gives it only work that the stream can do again,
    /// on memory that is there for as long as the graph.
    pub(crate) unsafe fn record(stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<Graph> {
        let handle = stream.cu_stream().context("only a GPU's stream can be recorded")?;
        // What a library may do on the side at its first call, such as loading a kernel, is no reason to stop.
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is alive, and its context current: the runtime's last call made it so.
        unsafe { result::stream::begin_capture(handle, mode) }.context("cuStreamBeginCapture")?;
        let done = work();
        // SAFETY: as above. Whatever happened, the capture has to end.
        let graph = unsafe { result::stream::end_capture(handle) };
        done?;
        let graph = graph.context("cuStreamEndCapture")?;
        // SAFETY: the graph has just been made.
        let executable = unsafe { result::graph::instantiate(graph, CUgraphInstantiate_flags(0)) };
        match executable.context("cuGraphInstantiate") {
            Ok(executable) => Ok(Graph { graph, executable, handle, stream: stream.clone() }),
            Err(error) => {
                // SAFETY: nothing else has the graph. The error to report is the first.
                let _ = unsafe { result::graph::destroy(graph) };
                Err(error)
            }
        }
    }

    /// Gives the whole graph to the stream.
    ///
    /// # Errors
    /// An error of the driver.
    pub(crate) fn launch(&self) -> Result<()> {
        // SAFETY: graph and stream are alive, and so is the memory, as `record` demands.
        unsafe { result::graph::launch(self.executable, self.handle) }.context("cuGraphLaunch")
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // The memory of the graph's work may go after the graph.
        let _ = self.stream.synchronize();
        // SAFETY: nothing else has them, and nothing of theirs runs any more. A failure leaves them to the end of the
        // process.
        let _ = unsafe { (result::graph::exec_destroy(self.executable), result::graph::destroy(self.graph)) };
    }
}
