//! A program on a terminal of its own: keys in, the screen read back.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A running program, and what it has written.
pub(crate) struct View {
    child: Child,
    keyboard: File,
    size: (u16, u16),
    seen: Arc<Mutex<Vec<u8>>>,
    /// When it was started, and when how many bytes had come.
    started: Instant,
    arrivals: Arc<Mutex<Vec<(Instant, usize)>>>,
}

impl View {
    /// Starts the program.
    pub(crate) fn open(mut command: Command, size: (u16, u16)) -> Self {
        let (mut ours, mut theirs) = (0, 0);
        let window = window(size);
        // SAFETY: two numbers come back, the window is alive during the call, and no name or mode is
        // wanted.
        let opened = unsafe {
            let (name, mode) = (std::ptr::null_mut(), std::ptr::null_mut());
            libc::openpty(
                &raw mut ours,
                &raw mut theirs,
                name,
                mode,
                (&raw const window).cast_mut(),
            )
        };
        assert_eq!(opened, 0, "a terminal");
        // What is started must not keep its own terminal open.
        // SAFETY: the number is an open file's, and a flag is all that changes.
        unsafe { libc::fcntl(ours, libc::F_SETFD, libc::FD_CLOEXEC) };
        // SAFETY: the kernel made both just now, and nobody else has them.
        let (ours, theirs) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
        let copy = || Stdio::from(theirs.try_clone().expect("a copy"));
        command
            .env("TERM", "xterm-256color")
            .stdin(copy())
            .stdout(copy())
            .stderr(Stdio::null());
        // SAFETY: both calls are safe between fork and exec, and take no memory of ours.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let started = Instant::now();
        let child = command.spawn().expect("it starts");
        drop(command);
        drop(theirs);
        let keyboard = File::from(ours);
        let mut screen = keyboard.try_clone().expect("a copy");
        let seen = Arc::new(Mutex::<Vec<u8>>::default());
        let arrivals = Arc::new(Mutex::<Vec<(Instant, usize)>>::default());
        let (into, times) = (Arc::clone(&seen), Arc::clone(&arrivals));
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            // Ends with the program on the other side.
            while let Ok(count @ 1..) = screen.read(&mut part) {
                let mut seen = into.lock().unwrap();
                seen.extend_from_slice(&part[..count]);
                times.lock().unwrap().push((Instant::now(), seen.len()));
            }
        });
        Self {
            child,
            keyboard,
            size,
            seen,
            started,
            arrivals,
        }
    }

    /// How long after its start the screen was first as `wanted` says.
    pub(crate) fn first(&self, wanted: impl Fn(&str) -> bool) -> Option<Duration> {
        let (seen, arrivals) = (self.seen.lock().unwrap(), self.arrivals.lock().unwrap());
        let (at, _) = arrivals.iter().find(|(_, end)| {
            wanted(&screen_after(
                &String::from_utf8_lossy(&seen[..*end]),
                self.size,
            ))
        })?;
        Some(at.duration_since(self.started))
    }

    /// The program's number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Types.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("typed");
    }

    /// Makes the terminal larger or smaller.
    pub(crate) fn resize(&mut self, size: (u16, u16)) {
        self.size = size;
        let window = window(size);
        let terminal = self.keyboard.as_raw_fd();
        // SAFETY: the terminal is open, and the window is alive during the call.
        let set = unsafe { libc::ioctl(terminal, libc::TIOCSWINSZ, &raw const window) };
        assert_eq!(set, 0, "resized");
    }

    /// How many bytes it has written.
    pub(crate) fn written(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// The screen now.
    pub(crate) fn text(&self) -> String {
        let seen = self.seen.lock().unwrap();
        screen_after(&String::from_utf8_lossy(&seen), self.size)
    }

    /// Looks until the screen is as `wanted` says.
    pub(crate) fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let text = self.text();
            if wanted(&text) {
                return text;
            }
            let waited = begun.elapsed() < Duration::from_secs(60);
            assert!(waited, "never: {what}\n{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Looks until the screen has a text.
    pub(crate) fn shows(&self, part: &str) -> String {
        self.until(part, |text| text.contains(part))
    }

    /// Quits as a user does, and looks whether the terminal was given back.
    pub(crate) fn quit(mut self) {
        self.press("\x03");
        assert!(self.child.wait().expect("it ends").success());
        let given_back = |written: &[u8]| String::from_utf8_lossy(written).contains("\x1b[?1049l");
        let begun = Instant::now();
        while !given_back(&self.seen.lock().unwrap()) {
            let waited = begun.elapsed() < Duration::from_secs(60);
            assert!(waited, "the terminal is not given back");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for View {
    /// A test that fails leaves nothing behind.
    fn drop(&mut self) {
        // It has ended already where this fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn window((columns, lines): (u16, u16)) -> libc::winsize {
    libc::winsize {
        ws_row: lines,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// What a terminal shows after `written`: positions, clearing and letters; the rest is decoration.
fn screen_after(written: &str, (columns, lines): (u16, u16)) -> String {
    let mut cells: BTreeMap<(usize, usize), char> = BTreeMap::new();
    let (mut line, mut column) = (0, 0);
    let mut rest = written.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\x1b' if rest.peek() == Some(&'[') => {
                rest.next();
                let mut arguments = String::new();
                let mut end = ' ';
                for letter in rest.by_ref() {
                    if letter.is_ascii_alphabetic() {
                        end = letter;
                        break;
                    }
                    arguments.push(letter);
                }
                match end {
                    'H' => {
                        let mut numbers = arguments.split(';').map(|n| n.parse().unwrap_or(1));
                        line = numbers.next().unwrap_or(1) - 1;
                        column = numbers.next().unwrap_or(1) - 1;
                    }
                    'J' => cells.clear(),
                    _ => {}
                }
            }
            '\r' => column = 0,
            '\n' => line += 1,
            letter if !letter.is_control() => {
                cells.insert((line, column), letter);
                column += 1;
            }
            _ => {}
        }
    }
    let row = |line: usize| {
        let cell = |column| cells.get(&(line, column)).copied().unwrap_or(' ');
        (0..usize::from(columns)).map(cell).collect::<String>() + "\n"
    };
    (0..usize::from(lines)).map(row).collect()
}
