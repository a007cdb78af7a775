//! The exporter's metrics as a page, and what other exporters call them.

use warpsmith_telemetry::exporter::{CONVENTIONS, Kind, PEERS, dcgm_metrics, metrics, otlp_name};

use super::page::{Page, cell};

const INTRODUCTION: &str = "\
# Metrics

What `warpsmith export` serves on `/metrics`, in Prometheus' text format. Units are base units: \
bytes, seconds, watts, joules, hertz, ratios from 0 to 1. A value that is not known has no line, and a \
GPU that does not answer has no readings, only `warpsmith_gpu_up 0` and the reason.

Which pod has a GPU is one series, `warpsmith_gpu_pod_info`, so that the others go on when pods come and \
go; a query joins them: `warpsmith_gpu_power_watts * on(instance, gpu, uuid) group_left(namespace, pod) \
warpsmith_gpu_pod_info`.

`process_…` are the exporter's own process, by the names that Prometheus' clients use; \
`warpsmith_exporter_…` are what its answers cost. Process series need `--processes`: at most 32 per GPU, \
without command lines.

| metric | kind | labels | what it is |
|---|---|---|---|
";

const OTHERS: &str = "
## Names in other exporters

The nearest relatives in NVIDIA's dcgm-exporter and in nvidia_gpu_exporter, for those who move \
dashboards and alerts. Units differ where names differ: DCGM counts percent, MHz, MiB and mJ.

`warpsmith export --compat dcgm` serves dcgm-exporter's names, units and labels instead: `gpu`, `UUID`, \
`pci_bus_id`, `device`, `modelName`, `Hostname` (as its releases up to 4.8.2 write it), \
`DCGM_FI_DRIVER_VERSION` and, with `--kubernetes`, `container`, `namespace` and `pod`. What is not known has \
no line, where dcgm-exporter writes a sentinel. The memory of a MIG instance has lines of its own, with \
`GPU_I_PROFILE` and `GPU_I_ID` and the pod that has the instance.

| here | dcgm-exporter | nvidia_gpu_exporter |
|---|---|---|
";

const COMPAT: &str = "
## With `--compat dcgm`

| metric | kind | what it is |
|---|---|---|
";

const OPENTELEMETRY: &str = "
## With `--otlp`

`warpsmith export --otlp URL` pushes the metrics of the first table to an OpenTelemetry receiver, whatever \
`--compat` serves; those of the exporter itself (`process_…`, `warpsmith_exporter_…`) stay on the page. Labels \
are attributes. A Prometheus that receives OTLP translates the names back to those of the page.

| attribute of the resource | value |
|---|---|
| `service.name`, `service.version` | `warpsmith` and its version |
| `service.instance.id`, `host.name` | the host's name, or the node's in Kubernetes (`NODE_NAME`) |
| `host.arch`, `os.type` | such as `amd64` and `linux` |
| yours | `--otlp-attribute NAME=VALUE`, `OTEL_RESOURCE_ATTRIBUTES` |

Counters are cumulative sums that begin with the first push, because since when a driver counts is not known.

| on the page | in OpenTelemetry | unit | kind |
|---|---|---|---|
";

const CONVENTIONAL: &str = "
Beside them come the metrics that OpenTelemetry's [conventions for hardware](https://opentelemetry.io/docs/specs/semconv/hardware/gpu/) \
name, which are in development. Each has `hw.id` (the GPU's uuid), `hw.type` (`gpu`), `hw.name`, `hw.model`, \
`hw.vendor` and `hw.driver_version`.

| metric | unit | kind | told apart by | what it is |
|---|---|---|---|---|
";

pub(super) fn page() -> Page {
    let code = |text: &str| match text {
        "" => "–".to_owned(),
        text => format!("`{text}`"),
    };
    let mut text = INTRODUCTION.to_owned();
    for metric in metrics() {
        let labels = match metric.labels {
            "" => String::new(),
            labels => cell(labels),
        };
        text.push_str(&format!(
            "| `{}` | {} | {labels} | {} |\n",
            metric.name,
            metric.kind,
            cell(metric.help)
        ));
    }
    text.push_str(OTHERS);
    for peers in PEERS {
        text.push_str(&format!(
            "| `{}` | {} | {} |\n",
            peers.ours,
            code(peers.dcgm),
            code(peers.nvidia_smi)
        ));
    }
    text.push_str(COMPAT);
    for metric in dcgm_metrics() {
        text.push_str(&format!(
            "| `{}` | {} | {} |\n",
            metric.name,
            metric.kind,
            cell(metric.help)
        ));
    }
    text.push_str(OPENTELEMETRY);
    let own = ["process_", "warpsmith_exporter_"];
    for metric in metrics().filter(|metric| !own.iter().any(|own| metric.name.starts_with(own))) {
        let name = otlp_name(metric);
        let kind = match metric.kind {
            "counter" => "sum",
            kind => kind,
        };
        text.push_str(&format!(
            "| `{}` | `{}` | {} | {kind} |\n",
            metric.name,
            name.name,
            code(name.unit)
        ));
    }
    text.push_str(CONVENTIONAL);
    for metric in CONVENTIONS {
        let kind = match metric.kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "sum",
            Kind::UpDownCounter => "sum that may shrink",
        };
        let values: Vec<String> = metric.apart().map(|value| format!("`{value}`")).collect();
        let apart = metric.by.map_or_else(
            || "–".to_owned(),
            |by| format!("`{by}`: {}", values.join(", ")),
        );
        text.push_str(&format!(
            "| `{}` | `{}` | {kind} | {apart} | {} |\n",
            metric.name,
            metric.unit,
            cell(metric.help)
        ));
    }
    Page::generated("reference/metrics.md", &text)
}
