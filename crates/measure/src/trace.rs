//! Chrome's trace format, which Perfetto and `chrome://tracing` open: spans on tracks, counters.
//!
//! Written as it comes, so that a million events need no memory.

use std::io::{self, Write};

use warpsmith_device::Activity;

use crate::profile::device_span::DeviceSpan;
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

/// Steps that ran again while the device's activity was recorded. They are slower for it, and no
/// part of the measurement.
pub struct RecordedSteps {
    /// Start and length of each on the host, in seconds from the start of the recording.
    pub host: Vec<(f64, f64)>,
    /// What the device did, from the same start.
    pub device: Vec<Activity>,
}

/// The steps of a trajectory where they were, with memory beside them, and what the device did
/// where that was recorded. Steps whose starts are not known lie end to end.
pub fn trajectory<W: Write>(
    out: W,
    trajectory: &Trajectory,
    recorded: Option<&RecordedSteps>,
) -> io::Result<W> {
    let mut trace = TraceWriter::new(out)?;
    trace.track(1, 1, &trajectory.measurement.name)?;
    if let Some(recorded) = recorded {
        self::recorded(&mut trace, &trajectory.measurement.name, recorded)?;
    }
    let mut now = 0.0;
    for (step, seconds) in trajectory.measurement.seconds.iter().enumerate() {
        let start = trajectory.starts.get(step).copied().unwrap_or(now);
        trace.span(1, 1, "step", start, *seconds)?;
        now = start + seconds;
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

fn recorded<W: Write>(
    trace: &mut TraceWriter<W>,
    name: &str,
    steps: &RecordedSteps,
) -> io::Result<()> {
    /// Apart from the measured steps, whose clock is another one.
    const PROCESS: u64 = 2;
    trace.track(PROCESS, 1, &format!("{name}, recorded: host"))?;
    for (start, seconds) in &steps.host {
        trace.span(PROCESS, 1, "step", *start, *seconds)?;
    }
    let mut tracks: Vec<(u32, u32)> = steps
        .device
        .iter()
        .map(|activity| (activity.device, activity.stream))
        .collect();
    tracks.sort_unstable();
    tracks.dedup();
    for (index, (device, stream)) in tracks.iter().enumerate() {
        let thread = index as u64 + 2;
        trace.track(PROCESS, thread, &format!("GPU {device}, stream {stream}"))?;
        let own = steps
            .device
            .iter()
            .filter(|activity| (activity.device, activity.stream) == (*device, *stream));
        for activity in own {
            let seconds = activity.end_ns.saturating_sub(activity.start_ns) as f64 * 1e-9;
            let start = activity.start_ns as f64 * 1e-9;
            trace.span(PROCESS, thread, &activity.name, start, seconds)?;
        }
    }
    Ok(())
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
    fn recorded_steps_have_a_track_per_stream() {
        let activity = |name: &str, stream, start_ns| Activity {
            kind: warpsmith_device::ActivityKind::Kernel,
            name: name.into(),
            device: 0,
            stream,
            start_ns,
            end_ns: start_ns + 2000,
            bytes: 0,
        };
        let steps = RecordedSteps {
            host: vec![(0.0, 1e-3), (1e-3, 1e-3)],
            device: vec![activity("a", 7, 1000), activity("b", 9, 2000)],
        };
        let mut trace = TraceWriter::new(Vec::new()).unwrap();
        recorded(&mut trace, "x", &steps).unwrap();
        let out = trace.finish().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let events = json["traceEvents"].as_array().unwrap();
        let spans: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
        assert_eq!((events.len(), spans.len()), (7, 4));
        assert_eq!(
            (&spans[3]["name"], spans[3]["dur"].as_f64()),
            (&"b".into(), Some(2.0))
        );
    }

    #[test]
    fn steps_lie_where_they_were_with_gaps_between_them() {
        let steps = Trajectory {
            measurement: crate::measurement::Measurement::imported("x", vec![1e-3, 1e-3]),
            starts: vec![0.0, 5e-3],
            memory: Vec::new(),
        };
        let out = trajectory(Vec::new(), &steps, None).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let events = json["traceEvents"].as_array().unwrap();
        let starts: Vec<f64> = events
            .iter()
            .filter_map(|event| event["ts"].as_f64())
            .collect();
        assert_eq!(starts, [0.0, 5000.0]);
    }

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
