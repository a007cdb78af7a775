//! What processes hold on the GPUs, read on demand.

use std::path::Path;

use crate::Clock;
use crate::host;
use crate::source::Gpu;
use crate::source::nvidia::{GpuHandle, Library};

/// Every GPU of the machine, open for questions about processes.
pub struct ProcessMemory {
    handles: Vec<GpuHandle>,
}

impl ProcessMemory {
    /// Opens the GPUs; `None` where there are none, or where the driver names processes by numbers
    /// that this container does not know.
    pub fn open() -> Option<Self> {
        Self::of(None, Path::new("/proc"))
    }

    /// As [`Self::open`], with another library and another place for processes.
    pub fn of(library: Option<&Path>, proc_root: &Path) -> Option<Self> {
        if host::sees_host_pids(proc_root) == Some(false) {
            return None;
        }
        let library = Library::load(library).ok()?;
        let count = library.gpu_count().ok()?;
        let handles: Vec<GpuHandle> = (0..count)
            .filter_map(|index| library.gpu(index).ok())
            .collect();
        (!handles.is_empty()).then_some(Self { handles })
    }

    /// Bytes that `pids` hold on all GPUs together; `None` where no driver lists processes.
    pub fn bytes_of(&mut self, pids: &[u32]) -> Option<u64> {
        let mut total = None;
        for handle in &mut self.handles {
            let Ok(Some(uses)) = handle.processes(Clock::System.now()) else {
                continue;
            };
            let own = uses.iter().filter(|process| pids.contains(&process.pid));
            let bytes = own.filter_map(|process| process.memory_bytes);
            let bytes: i64 = bytes.filter(|bytes| *bytes > 0).sum();
            *total.get_or_insert(0) += bytes.unsigned_abs();
        }
        total
    }
}
