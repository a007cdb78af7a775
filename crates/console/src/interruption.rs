//! Ctrl-C and SIGTERM, so that a verb that runs until it is stopped ends in good order.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};

/// Ctrl-C or a polite request to end, so that what was gathered is not lost. Waiting for it wakes
/// nobody until it comes.
pub struct Interruption {
    came: Arc<AtomicBool>,
    /// The signals' handlers write a byte to the other end.
    bell: UnixStream,
}

impl Interruption {
    /// Listens from now on.
    pub fn listen() -> Result<Self> {
        let came = Arc::new(AtomicBool::new(false));
        let listen = || -> io::Result<UnixStream> {
            let (bell, rope) = UnixStream::pair()?;
            for signal in [SIGINT, SIGTERM] {
                // The second one ends the program at once.
                signal_hook::flag::register_conditional_default(signal, Arc::clone(&came))?;
                signal_hook::flag::register(signal, Arc::clone(&came))?;
                signal_hook::low_level::pipe::register(signal, rope.try_clone()?)?;
            }
            Ok(bell)
        };
        let bell = listen().context("cannot listen for signals")?;
        Ok(Self { came, bell })
    }

    /// Becomes true when it comes.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.came)
    }

    /// The same, for plans that are copied; kept until the process ends.
    pub fn lasting_flag(&self) -> &'static AtomicBool {
        Box::leak(Box::new(self.flag()))
    }

    /// Whether it came.
    pub fn came(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }

    /// Waits for it, at most for `most`; whether it came.
    pub fn wait(&self, most: Duration) -> bool {
        // A timeout of zero is none.
        let most = most.max(Duration::from_micros(1));
        if !self.came() && self.bell.set_read_timeout(Some(most)).is_ok() {
            // Also ends early for other signals: the caller asks again.
            let _ = (&self.bell).read(&mut [0; 8]);
        }
        self.came()
    }
}
