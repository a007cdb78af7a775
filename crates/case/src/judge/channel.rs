//! Frames to and from a process that may hang, flood or lie: a line of JSON, then raw bytes.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A header is a line of facts.
const LONGEST_HEADER: usize = 1 << 20;
/// How often the other side is looked at while nothing comes.
const TICK: Duration = Duration::from_millis(20);

/// Why no frame came.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Lost {
    /// It took too long.
    TooLong(f64),
    /// It took too much memory.
    TooLarge(u64),
    /// It started too many processes.
    TooMany(usize),
    /// The other side is gone.
    Ended,
    /// What came is no frame.
    Garbled(String),
}

/// One end of a connection.
pub(super) struct Channel {
    stream: UnixStream,
    left: Vec<u8>,
}

impl Channel {
    pub(super) fn new(stream: UnixStream) -> std::io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(TICK))?;
        stream.set_write_timeout(Some(TICK))?;
        Ok(Self {
            stream,
            left: Vec::new(),
        })
    }

    /// Sends a header and its bytes.
    pub(super) fn send(
        &mut self,
        header: &Value,
        parts: &[&[u8]],
        limit: Duration,
        watch: &mut dyn FnMut() -> Result<(), Lost>,
    ) -> Result<(), Lost> {
        let begun = Instant::now();
        let line = format!("{header}\n");
        for part in std::iter::once(line.as_bytes()).chain(parts.iter().copied()) {
            let mut rest = part;
            while !rest.is_empty() {
                match self.stream.write(rest) {
                    Ok(0) => return Err(Lost::Ended),
                    Ok(count) => rest = &rest[count..],
                    Err(error) => self.wait(&error, begun, limit, watch)?,
                }
            }
        }
        Ok(())
    }

    /// Receives a header and at most `most` bytes behind it.
    pub(super) fn receive(
        &mut self,
        most: usize,
        limit: Duration,
        watch: &mut dyn FnMut() -> Result<(), Lost>,
    ) -> Result<(Value, Vec<u8>), Lost> {
        let begun = Instant::now();
        let mut part = vec![0u8; 64 << 10];
        let end = loop {
            if let Some(end) = self.left.iter().position(|byte| *byte == b'\n') {
                break end;
            }
            if self.left.len() > LONGEST_HEADER {
                return Err(Lost::Garbled("a header without an end".into()));
            }
            match self.stream.read(&mut part) {
                Ok(0) => return Err(Lost::Ended),
                Ok(count) => self.left.extend(&part[..count]),
                Err(error) => self.wait(&error, begun, limit, watch)?,
            }
        };
        let rest = self.left.split_off(end + 1);
        let line = std::mem::replace(&mut self.left, rest);
        let header: Value = serde_json::from_slice(&line).map_err(|_| {
            let shown: String = String::from_utf8_lossy(&line).chars().take(80).collect();
            Lost::Garbled(format!("no frame: {shown}"))
        })?;
        let count = header["bytes"].as_u64().unwrap_or(0);
        let count = usize::try_from(count)
            .ok()
            .filter(|count| *count <= most)
            .ok_or_else(|| Lost::Garbled(format!("{count} bytes where at most {most} fit")))?;
        let mut payload: Vec<u8> = self.left.drain(..count.min(self.left.len())).collect();
        payload.reserve(count - payload.len());
        let mut have = payload.len();
        payload.resize(count, 0);
        while have < count {
            match self.stream.read(&mut payload[have..]) {
                Ok(0) => return Err(Lost::Ended),
                Ok(read) => have += read,
                Err(error) => self.wait(&error, begun, limit, watch)?,
            }
        }
        Ok((header, payload))
    }

    fn wait(
        &self,
        error: &std::io::Error,
        begun: Instant,
        limit: Duration,
        watch: &mut dyn FnMut() -> Result<(), Lost>,
    ) -> Result<(), Lost> {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
            _ => return Err(Lost::Ended),
        }
        if begun.elapsed() > limit {
            return Err(Lost::TooLong(limit.as_secs_f64()));
        }
        watch()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use serde_json::json;

    use super::*;

    const SECOND: Duration = Duration::from_secs(5);

    #[test]
    fn frames_arrive_and_what_is_none_is_refused() {
        let (a, b) = UnixStream::pair().unwrap();
        let (mut a, mut b) = (Channel::new(a).unwrap(), Channel::new(b).unwrap());
        let data = vec![7u8; 3 << 20];
        let copy = data.clone();
        let sender = thread::spawn(move || {
            a.send(
                &json!({ "bytes": copy.len() }),
                &[&copy],
                SECOND,
                &mut || Ok(()),
            )
            .unwrap();
            a.send(
                &json!({ "bytes": 1_u64 << 40 }),
                &[],
                SECOND,
                &mut || Ok(()),
            )
            .unwrap();
            a.stream.write_all(b"nonsense\n").unwrap();
        });
        let (_, payload) = b.receive(4 << 20, SECOND, &mut || Ok(())).unwrap();
        assert_eq!(payload, data);
        for _ in 0..2 {
            let lost = b.receive(1 << 20, SECOND, &mut || Ok(())).unwrap_err();
            assert!(matches!(lost, Lost::Garbled(_)), "{lost:?}");
        }
        sender.join().unwrap();
        let lost = b.receive(1 << 20, SECOND, &mut || Ok(())).unwrap_err();
        assert_eq!(lost, Lost::Ended);
    }

    #[test]
    fn a_silent_side_costs_the_limit_and_a_watch_may_end_it_before() {
        let (a, b) = UnixStream::pair().unwrap();
        let (_a, mut b) = (Channel::new(a).unwrap(), Channel::new(b).unwrap());
        let short = Duration::from_millis(30);
        assert_eq!(
            b.receive(1, short, &mut || Ok(())),
            Err(Lost::TooLong(0.03))
        );
        assert_eq!(
            b.receive(1, SECOND, &mut || Err(Lost::TooLarge(5))),
            Err(Lost::TooLarge(5))
        );
    }
}
