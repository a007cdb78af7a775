//! One push: `ExportMetricsServiceRequest` of OTLP, metric after metric.

use super::names::{OtlpName, otlp_name};
use crate::Micros;
use crate::exporter::protobuf::Writer;
use crate::exporter::text_format::{Head, Series};

/// How values of a metric add up over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value of this moment.
    Gauge,
    /// A sum that only grows.
    Counter,
    /// A sum that grows and shrinks.
    UpDownCounter,
}

/// A metric, without its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Metric<'a> {
    pub(super) name: &'a str,
    pub(super) help: &'a str,
    pub(super) unit: &'a str,
    pub(super) kind: Kind,
}

/// The metric that is being written.
struct Open {
    /// Name, description and unit.
    about: Writer,
    kind: Kind,
    points: Writer,
}

/// The request, as far as it is written.
pub(super) struct Document {
    metrics: Writer,
    open: Option<Open>,
    start: Micros,
    now: Micros,
}

impl Document {
    /// An empty one; sums are counted since `start`.
    pub(super) fn new(start: Micros, now: Micros) -> Self {
        Self {
            metrics: Writer::default(),
            open: None,
            start,
            now,
        }
    }

    /// Begins a metric.
    pub(super) fn metric(&mut self, metric: Metric<'_>) {
        self.close();
        let mut about = Writer::default();
        about.text(1, metric.name);
        about.text(2, metric.help);
        about.text(3, metric.unit);
        self.open = Some(Open {
            about,
            kind: metric.kind,
            points: Writer::default(),
        });
    }

    /// A value of the metric that was begun last.
    pub(super) fn point(&mut self, attributes: &[(&str, &str)], value: f64) {
        let Some(open) = &mut self.open else { return };
        let mut point = Writer::default();
        if open.kind != Kind::Gauge {
            point.fixed(2, nanoseconds(self.start));
        }
        point.fixed(3, nanoseconds(self.now));
        point.fixed(4, value.to_bits());
        // An empty label is no label.
        for (name, value) in attributes.iter().filter(|(_, value)| !value.is_empty()) {
            point.message(7, &key_value(name, value));
        }
        open.points.message(1, &point);
    }

    /// Ends the metric that is open; one without values is left out.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        if open.points.is_empty() {
            return;
        }
        let (mut metric, mut data) = (open.about, open.points);
        match open.kind {
            Kind::Gauge => metric.message(5, &data),
            Kind::Counter | Kind::UpDownCounter => {
                // Cumulative, and whether it only grows.
                data.number(2, 2);
                data.number(3, u64::from(open.kind == Kind::Counter));
                metric.message(7, &data);
            }
        }
        self.metrics.message(2, &metric);
    }

    /// The request about a resource with these attributes.
    pub(super) fn finish(mut self, resource: &[(String, String)]) -> Vec<u8> {
        self.close();
        let mut scope = Writer::default();
        scope.text(1, "warpsmith");
        scope.text(2, env!("CARGO_PKG_VERSION"));
        let mut scope_metrics = Writer::default();
        scope_metrics.message(1, &scope);
        scope_metrics.append(self.metrics);
        let mut about = Writer::default();
        for (name, value) in resource {
            about.message(1, &key_value(name, value));
        }
        let mut resource_metrics = Writer::default();
        resource_metrics.message(1, &about);
        resource_metrics.message(2, &scope_metrics);
        let mut request = Writer::default();
        request.message(1, &resource_metrics);
        request.into_bytes()
    }
}

fn nanoseconds(at: Micros) -> u64 {
    at.0.saturating_mul(1000)
}

/// `KeyValue` with an `AnyValue` that is a text.
fn key_value(name: &str, text: &str) -> Writer {
    let mut value = Writer::default();
    value.text(1, text);
    let mut pair = Writer::default();
    pair.text(1, name);
    pair.message(2, &value);
    pair
}

impl Series for Document {
    fn head(&mut self, head: &Head) {
        let OtlpName { name, unit } = otlp_name(head);
        self.metric(Metric {
            name: &name,
            help: head.help,
            unit,
            kind: match head.kind {
                "counter" => Kind::Counter,
                _ => Kind::Gauge,
            },
        });
    }

    fn line(&mut self, _: &str, labels: &[(&str, &str)], value: f64) {
        self.point(labels, value);
    }
}
