//! Activity records: kernels, copies and fills, with the device's own time stamps.
//!
//! Invariants: one trace at a time in a process, because CUPTI's callbacks carry no argument to
//! tell traces apart; a buffer that CUPTI was given is freed exactly once, when it comes back.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::binding::Cupti;
use crate::error::DeviceError;

/// What a device did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivityKind {
    /// Ran a kernel.
    Kernel,
    /// Copied memory.
    Copy,
    /// Filled memory.
    Fill,
}

/// One thing that a device did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// What.
    pub kind: ActivityKind,
    /// The kernel's name, or what was done.
    pub name: String,
    /// The device.
    pub device: u32,
    /// CUPTI's number of the stream.
    pub stream: u32,
    /// When it began, in nanoseconds from the start of the trace.
    pub start_ns: u64,
    /// When it ended, likewise.
    pub end_ns: u64,
    /// Bytes moved; 0 for kernels.
    pub bytes: u64,
}

const MEMCPY: c_int = 1;
const MEMSET: c_int = 2;
const CONCURRENT_KERNEL: c_int = 10;
const KINDS: [c_int; 3] = [MEMCPY, MEMSET, CONCURRENT_KERNEL];

/// A buffer as CUPTI likes it: aligned to eight bytes, some ten thousand records.
type Buffer = [u64; 1 << 17];

static RECORDS: Mutex<Vec<Activity>> = Mutex::new(Vec::new());
static ONE_AT_A_TIME: Mutex<bool> = Mutex::new(false);

/// Records what devices do until it is finished.
pub struct ActivityTrace {
    cupti: &'static Cupti,
    started_ns: u64,
}

impl ActivityTrace {
    /// Begins to record. Costs every launch about a microsecond: times that are to be trusted are
    /// taken without it.
    pub fn start() -> Result<Self, DeviceError> {
        let cupti = Cupti::get()?;
        let mut running = lock(&ONE_AT_A_TIME);
        if *running {
            return Err(failed("begin a second trace", 0));
        }
        lock(&RECORDS).clear();
        // SAFETY: both callbacks are functions of this program, which outlive it.
        check("register for activity records", unsafe {
            (cupti.register_callbacks)(requested, completed)
        })?;
        for kind in KINDS {
            // SAFETY: takes a number only.
            check("request activity records", unsafe { (cupti.enable)(kind) })?;
        }
        let mut started_ns = 0;
        // SAFETY: the pointer is to a live number.
        check("read CUPTI's clock", unsafe {
            (cupti.timestamp)(&raw mut started_ns)
        })?;
        *running = true;
        Ok(Self { cupti, started_ns })
    }

    /// Ends, and gives what was recorded, in the order of its beginning. Work must be done by then:
    /// what still runs is not in it.
    pub fn finish(self) -> Result<Vec<Activity>, DeviceError> {
        // SAFETY: takes a number only; 1 asks for buffers that are not full, too.
        check("fetch activity records", unsafe {
            (self.cupti.flush_all)(1)
        })?;
        let mut records = std::mem::take(&mut *lock(&RECORDS));
        records.retain(|record| record.start_ns >= self.started_ns);
        for record in &mut records {
            record.start_ns -= self.started_ns;
            record.end_ns = record.end_ns.saturating_sub(self.started_ns);
        }
        records.sort_by_key(|record| record.start_ns);
        Ok(records)
    }
}

impl Drop for ActivityTrace {
    fn drop(&mut self) {
        for kind in KINDS {
            // SAFETY: takes a number only; a kind that cannot be disabled only costs time.
            unsafe { (self.cupti.disable)(kind) };
        }
        *lock(&ONE_AT_A_TIME) = false;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(attempted: &str, code: c_int) -> DeviceError {
    DeviceError::Driver {
        attempted: attempted.to_owned(),
        code,
        name: format!("CUPTI error {code}"),
        description: "another profiler may be attached".to_owned(),
    }
}

fn check(attempted: &str, status: c_int) -> Result<(), DeviceError> {
    match status {
        0 => Ok(()),
        code => Err(failed(attempted, code)),
    }
}

extern "C" fn requested(buffer: *mut *mut u8, size: *mut usize, most_records: *mut usize) {
    let fresh: Box<Buffer> = match vec![0u64; 1 << 17].into_boxed_slice().try_into() {
        Ok(fresh) => fresh,
        // The length is that of the type.
        Err(_) => return,
    };
    // SAFETY: CUPTI passes pointers to its own live variables.
    unsafe {
        *buffer = Box::into_raw(fresh).cast();
        *size = size_of::<Buffer>();
        *most_records = 0;
    }
}

extern "C" fn completed(_: *mut c_void, _: u32, buffer: *mut u8, _: usize, valid: usize) {
    if buffer.is_null() {
        return;
    }
    if let Ok(cupti) = Cupti::get() {
        let mut record = std::ptr::null_mut();
        let mut records = lock(&RECORDS);
        // SAFETY: the buffer is one of ours with `valid` bytes of records in it, and `record` is
        // null at first and then what CUPTI left there.
        while valid > 0 && unsafe { (cupti.next_record)(buffer, valid, &raw mut record) } == 0 {
            // SAFETY: CUPTI points to a whole record inside of the buffer.
            records.extend(unsafe { read(record) });
        }
    }
    // SAFETY: the pointer came from `Box::into_raw` in `requested`, and CUPTI gives it back once.
    drop(unsafe { Box::from_raw(buffer.cast::<Buffer>()) });
}

/// Reads a record of one of our kinds. The places are those of cupti_activity.h: newer versions of
/// the structs have grown at their ends only, from CUDA 11 to 13.
///
/// # Safety
/// `record` points to a whole activity record.
unsafe fn read(record: *const u8) -> Option<Activity> {
    // SAFETY: every place below is inside of the smallest version of its struct.
    unsafe {
        let number = |place: usize| record.add(place).cast::<u32>().read_unaligned();
        let long = |place: usize| record.add(place).cast::<u64>().read_unaligned();
        let moved = |kind, name: &str| Activity {
            kind,
            name: name.to_owned(),
            device: number(32),
            stream: number(40),
            start_ns: long(16),
            end_ns: long(24),
            bytes: long(8),
        };
        match number(0).cast_signed() {
            CONCURRENT_KERNEL => {
                let name = record.add(104).cast::<*const c_char>().read_unaligned();
                let name = match name.is_null() {
                    true => "kernel".to_owned(),
                    false => CStr::from_ptr(name).to_string_lossy().into_owned(),
                };
                Some(Activity {
                    kind: ActivityKind::Kernel,
                    name,
                    device: number(40),
                    stream: number(48),
                    start_ns: long(16),
                    end_ns: long(24),
                    bytes: 0,
                })
            }
            MEMCPY => Some(moved(ActivityKind::Copy, copy_name(record.add(4).read()))),
            MEMSET => Some(moved(ActivityKind::Fill, "fill")),
            _ => None,
        }
    }
}

/// `CUpti_ActivityMemcpyKind` in words.
fn copy_name(kind: u8) -> &'static str {
    match kind {
        1 => "copy to the device",
        2 => "copy to the host",
        8 => "copy on the device",
        10 => "copy between devices",
        _ => "copy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_from_their_places() {
        let mut record = [0u8; 160];
        let name = c"saxpy";
        let mut put = |place: usize, bytes: &[u8]| {
            record[place..place + bytes.len()].copy_from_slice(bytes);
        };
        put(0, &10u32.to_le_bytes());
        put(16, &1_000u64.to_le_bytes());
        put(24, &3_500u64.to_le_bytes());
        put(40, &2u32.to_le_bytes());
        put(48, &7u32.to_le_bytes());
        put(104, &(name.as_ptr() as usize).to_le_bytes());
        // SAFETY: the bytes above are a kernel record, whole.
        let read = unsafe { read(record.as_ptr()) }.unwrap();
        assert_eq!(
            (read.name.as_str(), read.kind),
            ("saxpy", ActivityKind::Kernel)
        );
        assert_eq!((read.device, read.stream), (2, 7));
        assert_eq!((read.start_ns, read.end_ns), (1_000, 3_500));
    }

    #[test]
    fn a_machine_without_cupti_says_so() {
        if let Err(error) = Cupti::get().map(|_| ()) {
            assert!(error.to_string().contains("CUPTI"), "{error}");
        }
    }
}
