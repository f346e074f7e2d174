//! Stream capture and graphs.

use std::collections::BTreeMap;
use std::ffi::{c_uint, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cudarc::driver::sys::{CUcontext, CUdeviceptr, CUgraph, CUgraphExec, CUgraphNode, CUmodule, CUstream};

use super::driver::Driver;
use super::failure::GRAPH_UPDATE_FAILURE;
use crate::error::{Error, Result};

/// The captures that are open in a context, and what has to wait for their end.
///
/// While any stream of a context is being captured, nobody may wait for the whole context, as unloading a module does,
/// and freeing memory may do.
#[derive(Debug, Default)]
pub(super) struct Captures(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    open: usize,
    released: Vec<Resource>,
}

/// What the driver may wait for the whole context to take back.
#[derive(Debug)]
pub(super) enum Resource {
    Module(CUmodule),
    /// Pinned memory.
    Host(*mut c_void),
    /// Memory that is not from a pool.
    Device(CUdeviceptr),
}

// SAFETY: handles and addresses are names; the driver's functions may be called from any thread.
unsafe impl Send for Resource {}

impl Resource {
    /// Gives it back. Errors are ignored: after a fault nothing can be freed, and all goes with the process.
    ///
    /// # Safety
    /// Nothing uses it any more. The context is current, and no stream of it is being captured.
    unsafe fn release(self, driver: &Driver) {
        // SAFETY: as the caller says.
        let _ = unsafe {
            match self {
                // Whether the driver waits for kernels of the module is not documented, so this does.
                Resource::Module(module) => driver.context_synchronize().and_then(|()| driver.module_unload(module)),
                Resource::Host(memory) => driver.mem_free_host(memory),
                Resource::Device(memory) => driver.mem_free(memory),
            }
        };
    }
}

impl Captures {
    /// Those of `context`, which all devices share that were opened in it.
    pub(super) fn of(context: CUcontext) -> Arc<Captures> {
        static ALL: Mutex<BTreeMap<usize, Weak<Captures>>> = Mutex::new(BTreeMap::new());
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let captures = all.entry(context.addr()).or_default();
        captures.upgrade().unwrap_or_else(|| {
            let new = Arc::default();
            *captures = Arc::downgrade(&new);
            new
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to capture the work on `stream`. The thread may do anything meanwhile, such as load a kernel.
    ///
    /// # Safety
    /// The stream is alive, and the context current.
    pub(super) unsafe fn begin(&self, driver: &Driver, stream: CUstream) -> Result<()> {
        const RELAXED: c_uint = 2;
        let mut state = self.state();
        // SAFETY: as the caller says.
        unsafe { driver.stream_begin_capture(stream, RELAXED)? };
        state.open += 1;
        Ok(())
    }

    /// Ends a capture that was begun.
    ///
    /// # Safety
    /// As [`begin`](Self::begin).
    pub(super) unsafe fn end(&self, driver: &Driver, stream: CUstream) -> Result<CUgraph> {
        let mut graph = null_mut();
        let mut state = self.state();
        // SAFETY: as the caller says; the argument can be written to.
        let ended = unsafe { driver.stream_end_capture(stream, &mut graph) };
        state.open = state.open.saturating_sub(1);
        if state.open == 0 {
            for resource in state.released.drain(..) {
                // SAFETY: whoever released it uses it no more.
                unsafe { resource.release(driver) };
            }
        }
        ended.map(|()| graph)
    }

    /// Waits for all work of the context; while anything is being captured, for that of `stream` alone.
    ///
    /// # Safety
    /// As [`begin`](Self::begin).
    pub(super) unsafe fn synchronize(&self, driver: &Driver, stream: CUstream) -> Result<()> {
        let state = self.state();
        // SAFETY: as the caller says. No capture begins before the wait is over.
        unsafe { if state.open > 0 { driver.stream_synchronize(stream) } else { driver.context_synchronize() } }
    }

    /// Gives back a resource, when nothing is being captured any more.
    ///
    /// # Safety
    /// Nothing uses it afterwards. The context is current.
    pub(super) unsafe fn release(&self, driver: &Driver, resource: Resource) {
        let mut state = self.state();
        if state.open > 0 {
            state.released.push(resource);
        } else {
            // SAFETY: as the caller says.
            unsafe { resource.release(driver) };
        }
    }
}

/// The driver's `CUgraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct UpdateResult {
    result: c_uint,
    error_node: CUgraphNode,
    error_from_node: CUgraphNode,
}

/// Gives `executable` the parameters of `graph`; `false` if the two are too different.
///
/// # Safety
/// Both are alive.
pub(super) unsafe fn update(driver: &Driver, executable: CUgraphExec, graph: CUgraph) -> Result<bool> {
    let mut result = UpdateResult { result: 0, error_node: null_mut(), error_from_node: null_mut() };
    // SAFETY: as the caller says; the argument can be written to.
    match unsafe { driver.graph_exec_update(executable, graph, &mut result) } {
        Ok(()) => Ok(true),
        Err(Error::Driver { code: GRAPH_UPDATE_FAILURE, .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_an_update_has_the_size_that_the_driver_writes() {
        assert_eq!(size_of::<UpdateResult>(), size_of::<cudarc::driver::sys::CUgraphExecUpdateResultInfo>());
    }
}
