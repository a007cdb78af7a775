//! Recorded work that is launched as one: a launch of twenty kernels for little more than one.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::context::Context;
use super::raw::{GraphExecHandle, GraphHandle, GraphUpdateInfo};
use super::stream::Stream;
use crate::error::DeviceError;

/// Work recorded from a stream, ready to run as often as one likes. It keeps alive whatever the
/// recorded work refers to.
pub struct Graph {
    recorded: RecordedGraph,
    executable: GraphExecHandle,
}

/// A recording that has not been made executable.
pub(super) struct RecordedGraph {
    handle: GraphHandle,
    context: Arc<Context>,
    kept: Vec<Arc<dyn Any + Send + Sync>>,
}

// SAFETY: graph handles may be moved between threads; launching takes `&self` and the driver locks.
unsafe impl Send for RecordedGraph {}
// SAFETY: as above.
unsafe impl Sync for RecordedGraph {}
// SAFETY: as above.
unsafe impl Send for Graph {}
// SAFETY: as above.
unsafe impl Sync for Graph {}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Graph({:?}, keeps {})",
            self.recorded.context,
            self.recorded.kept.len()
        )
    }
}

impl RecordedGraph {
    pub(super) fn new(
        context: Arc<Context>,
        handle: GraphHandle,
        kept: Vec<Arc<dyn Any + Send + Sync>>,
    ) -> Self {
        Self {
            handle,
            context,
            kept,
        }
    }

    fn executable(&self) -> Result<GraphExecHandle, DeviceError> {
        self.context.bind()?;
        let mut executable = std::ptr::null_mut();
        // SAFETY: the recording is alive and the pointer is to a live handle.
        let status =
            unsafe { (self.context.driver.graph_instantiate)(&raw mut executable, self.handle, 0) };
        self.context.check(status, "make a graph executable")?;
        Ok(executable)
    }
}

impl Drop for RecordedGraph {
    fn drop(&mut self) {
        if !self.handle.is_null() && self.context.bind().is_ok() {
            // SAFETY: the handle is ours and this is its last use.
            unsafe { (self.context.driver.graph_destroy)(self.handle) };
        }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.recorded.context.bind().is_ok() {
            // A launch may still run on memory that `recorded` is about to let go of.
            // SAFETY: a context is current; the handle is ours and this is its last use.
            unsafe {
                (self.recorded.context.driver.ctx_synchronize)();
                (self.recorded.context.driver.graph_exec_destroy)(self.executable);
            }
        }
    }
}

impl Graph {
    pub(super) fn instantiate(recorded: RecordedGraph) -> Result<Self, DeviceError> {
        let executable = recorded.executable()?;
        Ok(Self {
            recorded,
            executable,
        })
    }

    /// Queues the recorded work on `stream`.
    pub fn launch(&self, stream: &Stream) -> Result<(), DeviceError> {
        self.recorded.context.bind()?;
        // SAFETY: both handles are alive; what the graph refers to is kept by `recorded`.
        let status = unsafe {
            (self.recorded.context.driver.graph_launch)(self.executable, stream.handle())
        };
        self.recorded.context.check(status, "launch a graph")
    }

    /// Number of recorded operations.
    pub fn len(&self) -> Result<usize, DeviceError> {
        let mut count = 0;
        // SAFETY: a null list asks for the count alone.
        let status = unsafe {
            (self.recorded.context.driver.graph_get_nodes)(
                self.recorded.handle,
                std::ptr::null_mut(),
                &raw mut count,
            )
        };
        self.recorded
            .context
            .check(status, "count the nodes of a graph")?;
        Ok(count)
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> Result<bool, DeviceError> {
        Ok(self.len()? == 0)
    }

    /// Replaces the recorded work by what `work` queues. Returns whether the executable form could
    /// be patched (cheap: same operations, other arguments) or had to be made again.
    pub fn update(
        &mut self,
        stream: &Stream,
        work: impl FnOnce(&Stream) -> Result<(), DeviceError>,
    ) -> Result<bool, DeviceError> {
        let recorded = stream.record_graph(work)?;
        let context = &self.recorded.context;
        // The old memory is let go of below, and launches of the old work may still run on it.
        context.synchronize()?;
        let mut info = GraphUpdateInfo {
            result: 0,
            error_node: std::ptr::null_mut(),
            error_from_node: std::ptr::null_mut(),
        };
        // SAFETY: both graphs are alive and `info` has the driver's layout.
        let status = unsafe {
            (context.driver.graph_exec_update)(self.executable, recorded.handle, &raw mut info)
        };
        let patched = status == 0;
        if !patched {
            let fresh = recorded.executable()?;
            // SAFETY: the old handle is ours, idle, and replaced right here.
            unsafe { (context.driver.graph_exec_destroy)(self.executable) };
            self.executable = fresh;
        }
        self.recorded = recorded;
        Ok(patched)
    }
}
