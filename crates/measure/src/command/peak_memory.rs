//! The peak memory of a command that is smaller than we are.
//!
//! The kernel's own figure (`ru_maxrss`) begins with the resident set of whoever started the
//! process, so a small command shows our size. Here the command runs once under `ptrace`, untimed,
//! and its high-water mark is read at its end, when nothing but its own memory counts.
//!
//! The kernel counts pages per core and adds them up in batches of 32: the mark of a process, and
//! `ru_maxrss` with it, is short by up to 128 KiB for each core that it ran on, which is a tenth of
//! `true`. The page tables are exact, but show no more than the end; the peak is the larger of both.

use std::time::Duration;

use super::target::CommandTarget;

/// The largest resident set of us so far: what `ru_maxrss` of a child cannot fall below.
pub(super) fn inherited_peak() -> u64 {
    high_water("/proc/self/status").unwrap_or(0)
}

fn high_water(path: &str) -> Option<u64> {
    bytes_of(HIGH_WATER, std::fs::read_to_string(path).ok()?.as_bytes())
}

/// In `/proc/PID/status`: the largest resident set, as the kernel's counters have it.
const HIGH_WATER: &[u8] = b"VmHWM:";
/// In `/proc/PID/smaps_rollup`: the resident set, as the page tables have it.
#[cfg(target_os = "linux")]
const RESIDENT: &[u8] = b"\nRss:";

/// The figure after `name` in bytes.
fn bytes_of(name: &[u8], text: &[u8]) -> Option<u64> {
    let at = text.windows(name.len()).position(|w| w == name)?;
    let mut kilobytes = None;
    for byte in &text[at + name.len()..] {
        match byte {
            b'0'..=b'9' => {
                let digit = u64::from(byte - b'0');
                kilobytes = Some(10 * kilobytes.unwrap_or(0u64) + digit);
            }
            _ if kilobytes.is_some() => break,
            _ => {}
        }
    }
    kilobytes.map(|kilobytes| 1024 * kilobytes)
}

/// Runs `target` once, untimed, and returns the largest resident set of any of its processes;
/// `None` where this system or its rules do not let us look, or the run exceeds its limit.
#[cfg(target_os = "linux")]
pub fn probe(target: &CommandTarget) -> Option<u64> {
    use std::io::Read;
    use std::os::fd::AsRawFd;

    let stdin = target.stdin.as_deref();
    let stdin = std::fs::File::open(stdin.unwrap_or(std::path::Path::new("/dev/null"))).ok()?;
    let discard = std::fs::File::options()
        .write(true)
        .open("/dev/null")
        .ok()?;
    let words: Vec<std::ffi::CString> = target
        .words
        .iter()
        .map(|word| std::ffi::CString::new(word.as_str()).ok())
        .collect::<Option<_>>()?;
    let mut pointers: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
    pointers.first()?;
    pointers.push(std::ptr::null());
    let (mut answer, answers) = std::io::pipe().ok()?;
    let descriptors = [stdin.as_raw_fd(), discard.as_raw_fd(), answers.as_raw_fd()];
    // SAFETY: the child of a process with threads may only make calls that are safe in signal
    // handlers: `trace` allocates nothing, takes no lock and does not return.
    let tracer = match unsafe { libc::fork() } {
        -1 => return None,
        0 => tracer::trace(&pointers, descriptors),
        pid => pid,
    };
    drop(answers);
    let read = std::thread::scope(|scope| {
        let (ended, watched) = std::sync::mpsc::channel::<()>();
        let limit = target.limit.min(Duration::from_secs(3600));
        scope.spawn(move || {
            if watched.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                // SAFETY: our child, not waited for yet; what it traces ends with it.
                unsafe { libc::kill(tracer, libc::SIGKILL) };
            }
        });
        let mut bytes = [0; 8];
        let read = answer.read_exact(&mut bytes).is_ok();
        drop(ended);
        read.then(|| u64::from_ne_bytes(bytes))
    });
    // What is left of a run that was given up ends with its tracer, and is waited for here.
    let _ = super::scheduling::take_accounts(tracer);
    super::scheduling::end_group(tracer);
    read.filter(|peak| *peak > 0)
}

/// This system has no such account.
#[cfg(not(target_os = "linux"))]
pub fn probe(_target: &CommandTarget) -> Option<u64> {
    None
}

/// The process between us and the command, which sees every process of it end.
#[cfg(target_os = "linux")]
mod tracer {
    use std::ptr;

    use super::{HIGH_WATER, RESIDENT, bytes_of};

    /// Runs the command `words` to its end and writes the largest high-water mark to the third
    /// descriptor. Only calls that are safe in a signal handler: see where it is forked.
    pub(super) fn trace(words: &[*const libc::c_char], descriptors: [i32; 3]) -> ! {
        // SAFETY: every pointer is to a local, or into `words`, which ends in a null pointer and
        // outlives this process; every call is safe in a signal handler, `execvp` by glibc's and
        // musl's implementations, which use the stack alone.
        unsafe {
            libc::setsid();
            let command = libc::fork();
            if command == 0 {
                libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
                libc::dup2(descriptors[0], 0);
                libc::dup2(descriptors[1], 1);
                libc::dup2(descriptors[1], 2);
                libc::signal(libc::SIGPIPE, libc::SIG_DFL);
                libc::execvp(words[0], words.as_ptr());
                libc::_exit(127);
            }
            let mut status = 0;
            if command < 0 || libc::waitpid(command, &mut status, 0) != command {
                libc::_exit(1);
            }
            if !libc::WIFSTOPPED(status) {
                // It could not be started, or tracing is not permitted.
                libc::_exit(1);
            }
            let options = libc::PTRACE_O_TRACEEXIT
                | libc::PTRACE_O_TRACEFORK
                | libc::PTRACE_O_TRACEVFORK
                | libc::PTRACE_O_TRACECLONE
                | libc::PTRACE_O_EXITKILL;
            if libc::ptrace(libc::PTRACE_SETOPTIONS, command, 0, options) != 0 {
                libc::kill(command, libc::SIGKILL);
                libc::_exit(1);
            }
            libc::ptrace(libc::PTRACE_CONT, command, 0, 0);
            let mut peak = 0u64;
            loop {
                let pid = libc::waitpid(-1, &mut status, libc::__WALL);
                if pid < 0 || (pid == command && !libc::WIFSTOPPED(status)) {
                    break;
                }
                if !libc::WIFSTOPPED(status) {
                    continue;
                }
                let event = status >> 16;
                if event == libc::PTRACE_EVENT_EXIT {
                    peak = peak.max(peak_of(pid).unwrap_or(0));
                }
                // Stops of the tracer's own making are not passed on: events, and the first stop
                // of a new process.
                let signal = match libc::WSTOPSIG(status) {
                    _ if event != 0 => 0,
                    libc::SIGTRAP | libc::SIGSTOP => 0,
                    signal => signal,
                };
                libc::ptrace(libc::PTRACE_CONT, pid, 0, signal);
            }
            let bytes = peak.to_ne_bytes();
            libc::write(descriptors[2], ptr::from_ref(&bytes).cast(), bytes.len());
            libc::_exit(0);
        }
    }

    fn peak_of(pid: libc::pid_t) -> Option<u64> {
        let counted = read_of(pid, b"/status", HIGH_WATER);
        // `None` before Linux 4.14.
        let walked = read_of(pid, b"/smaps_rollup", RESIDENT);
        counted.max(walked)
    }

    /// The figure `name` of `/proc/PID` and `file`, which has at most 16 bytes.
    fn read_of(pid: libc::pid_t, file: &[u8], name: &[u8]) -> Option<u64> {
        // The path in place: nothing may be allocated here.
        let mut path = [0u8; 40];
        let mut at = 0;
        let mut put = |text: &[u8]| {
            path[at..at + text.len()].copy_from_slice(text);
            at += text.len();
        };
        put(b"/proc/");
        let mut digits = [0u8; 10];
        let mut first = digits.len();
        let mut rest = u32::try_from(pid).ok()?;
        while rest > 0 {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        put(&digits[first..]);
        put(file);
        let mut status = [0u8; 4096];
        // SAFETY: the path ends in a zero byte, because at most 32 of its 40 bytes were written;
        // the buffer is as long as is said.
        let count = unsafe {
            let file = libc::open(path.as_ptr().cast(), libc::O_RDONLY);
            let count = libc::read(file, status.as_mut_ptr().cast(), status.len());
            libc::close(file);
            count
        };
        bytes_of(name, &status[..usize::try_from(count).ok()?])
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn target(words: &[&str]) -> CommandTarget {
        CommandTarget::new(words.iter().map(|word| (*word).to_owned()).collect())
    }

    #[test]
    fn the_mark_is_found_among_the_other_lines() {
        let status = b"Name:\tx\nVmPeak:\t  9999 kB\nVmHWM:\t   1234 kB\nVmRSS:\t 5 kB\n";
        assert_eq!(bytes_of(HIGH_WATER, status), Some(1234 * 1024));
        assert_eq!(bytes_of(HIGH_WATER, b"Name:\tkthread\n"), None);
        let rollup = b"0-1 ---p 00000000 00:00 0 [rollup]\nRss:    1196 kB\nPss:  80 kB\n";
        assert_eq!(bytes_of(RESIDENT, rollup), Some(1196 * 1024));
    }

    #[test]
    fn a_small_command_does_not_show_our_size() {
        // Ten times what `true` needs, resident in us.
        let ballast = vec![1u8; 64 << 20];
        let run = target(&["true"]).run(1).unwrap();
        assert_eq!(run.peak_bytes, None, "our size hides it");
        let peak = probe(&target(&["true"])).unwrap();
        assert!(peak < 16 << 20, "{peak}");
        assert!(std::hint::black_box(&ballast)[5] == 1);
    }

    #[test]
    fn children_count_and_what_cannot_start_has_no_peak() {
        // The shell stays small; its child fills 40 MB.
        let script = "dd if=/dev/zero of=/dev/null bs=40M count=1; true";
        let peak = probe(&target(&["sh", "-c", script])).unwrap();
        assert!((40 << 20..80 << 20).contains(&peak), "{peak}");
        assert_eq!(probe(&target(&["no-such-program-here"])), None);
    }

    #[test]
    fn a_command_that_never_ends_is_given_up() {
        let mut endless = target(&["sh", "-c", "sleep 1000 & sleep 1000"]);
        endless.limit = Duration::from_millis(100);
        assert_eq!(probe(&endless), None);
    }
}
