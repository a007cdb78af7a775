//! Chrome's trace format, which Perfetto and `chrome://tracing` open: spans on tracks, counters.
//!
//! Written as it comes, so that a million events need no memory.

use std::io::{self, Write};

use crate::profile::nsys::DeviceSpan;
use crate::trajectory::Trajectory;

/// Writes one trace.
pub struct TraceWriter<W: Write> {
    out: W,
    first: bool,
}

impl<W: Write> TraceWriter<W> {
    /// Begins the document.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        Ok(Self { out, first: true })
    }

    fn event(&mut self, text: &str) -> io::Result<()> {
        let separator: &[u8] = if self.first { b"\n" } else { b",\n" };
        self.first = false;
        self.out.write_all(separator)?;
        self.out.write_all(text.as_bytes())
    }

    /// Names a track.
    pub fn track(&mut self, process: u64, thread: u64, name: &str) -> io::Result<()> {
        self.event(&format!(
            "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{process},\"tid\":{thread},\"args\":{{\"name\":{}}}}}",
            text(name)
        ))
    }

    /// Something that took a while.
    pub fn span(
        &mut self,
        process: u64,
        thread: u64,
        name: &str,
        start: f64,
        seconds: f64,
    ) -> io::Result<()> {
        self.event(&format!(
            "{{\"ph\":\"X\",\"name\":{},\"pid\":{process},\"tid\":{thread},\"ts\":{:.3},\"dur\":{:.3}}}",
            text(name),
            start * 1e6,
            seconds * 1e6
        ))
    }

    /// A value from here on.
    pub fn counter(&mut self, process: u64, name: &str, at: f64, value: f64) -> io::Result<()> {
        self.event(&format!(
            "{{\"ph\":\"C\",\"name\":{},\"pid\":{process},\"ts\":{:.3},\"args\":{{\"value\":{value}}}}}",
            text(name),
            at * 1e6
        ))
    }

    /// Ends the document.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn text(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

/// The steps of a trajectory end to end, with memory beside them.
pub fn trajectory<W: Write>(out: W, trajectory: &Trajectory) -> io::Result<W> {
    let mut trace = TraceWriter::new(out)?;
    trace.track(1, 1, &trajectory.measurement.name)?;
    let mut now = 0.0;
    for (step, seconds) in trajectory.measurement.seconds.iter().enumerate() {
        trace.span(1, 1, "step", now, *seconds)?;
        now += seconds;
        for series in &trajectory.memory {
            if step % series.every == 0
                && let Some(bytes) = series.bytes.get(step / series.every)
            {
                trace.counter(1, &format!("{} memory", series.kind), now, *bytes)?;
            }
        }
    }
    trace.finish()
}

/// What a device did, a track per stream.
pub fn device_spans<W: Write>(out: W, spans: &[DeviceSpan]) -> io::Result<W> {
    let mut trace = TraceWriter::new(out)?;
    let mut tracks: Vec<(i64, i64)> = spans
        .iter()
        .map(|span| (span.device, span.stream))
        .collect();
    tracks.sort_unstable();
    tracks.dedup();
    for (device, stream) in &tracks {
        trace.track(
            id(*device),
            id(*stream),
            &format!("GPU {device}, stream {stream}"),
        )?;
    }
    for span in spans {
        let start = span.start_ns as f64 * 1e-9;
        trace.span(
            id(span.device),
            id(span.stream),
            &span.name,
            start,
            span.seconds(),
        )?;
    }
    trace.finish()
}

fn id(number: i64) -> u64 {
    number.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_sound_json_with_escaped_names() {
        let span = |name: &str, start_ns| DeviceSpan {
            name: name.into(),
            device: 0,
            stream: 7,
            start_ns,
            end_ns: start_ns + 1500,
            bytes: 0,
        };
        let out = device_spans(Vec::new(), &[span("a\"b", 1000), span("c", 3000)]).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let events = json["traceEvents"].as_array().unwrap();
        assert_eq!(events.len(), 3);
        assert_eq!(events[1]["name"], "a\"b");
        assert_eq!(
            (events[1]["ts"].as_f64(), events[1]["dur"].as_f64()),
            (Some(1.0), Some(1.5))
        );
        let empty = TraceWriter::new(Vec::new()).unwrap().finish().unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&empty).is_ok());
    }
}
