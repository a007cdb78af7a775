//! Recordings, pages of other machines' exporters, answers of a Prometheus and of a kubelet, the kernel's
//! files about GPUs, the exporter's configuration and the wisdom file.

use warpsmith_telemetry::exporter::{Pods, WebConfig};
use warpsmith_telemetry::fleet::{HostReading, QueryAnswer, judge_fleet};
use warpsmith_telemetry::recording::Recording;
use warpsmith_telemetry::{DrmClient, GpuMetrics};
use warpsmith_wisdom::Wisdom;

use super::{Target, text};
use crate::scratch;

pub(super) const RECORDING: Target = Target {
    name: "recording",
    run: |data| {
        scratch::file("machine.wsr", data, |path| {
            let Ok(recording) = Recording::open(path) else {
                return;
            };
            let _ = recording.span();
            for event in recording.events() {
                if event.is_err() {
                    break;
                }
            }
        });
    },
    dictionary: &["WSGPUREC", "BLK1"],
};

pub(super) const METRICS_PAGE: Target = Target {
    name: "metrics_page",
    run: |data| {
        text(data, |page| {
            let Ok(host) = HostReading::of_page("a".into(), page) else {
                return;
            };
            let _ = judge_fleet(vec![host.clone(), host], None);
        });
    },
    dictionary: &[
        "warpsmith_gpu_info{",
        "warpsmith_gpu_power_watts{gpu=\"0\",uuid=\"GPU-1\"} ",
        "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\",modelName=\"x\"} ",
        "# HELP ",
        "# TYPE ",
        "NaN",
        "+Inf",
        "1e999",
        "9223372036854775794",
        "\\\"",
    ],
};

pub(super) const PROMETHEUS: Target = Target {
    name: "prometheus",
    run: |data| {
        let Ok(answer) = QueryAnswer::of_body(200, data) else {
            return;
        };
        if let Ok(hosts) = answer.clone().hosts(&answer, 60.0) {
            let _ = judge_fleet(hosts, None);
        }
    },
    dictionary: &[
        "\"status\":\"success\",",
        "\"data\":{\"resultType\":\"vector\",\"result\":[",
        "{\"metric\":{\"__name__\":\"up\",\"instance\":\"a\",\"job\":\"b\"},\"value\":[1,\"0\"]},",
        "\"__name__\":\"warpsmith_gpu_power_watts\",",
        "\"gpu\":\"0\",\"uuid\":\"GPU-1\",",
        "\"NaN\"",
        "\"+Inf\"",
        "1e999",
        "\\ud800",
        "null",
    ],
};

pub(super) const KUBELET: Target = Target {
    name: "kubelet",
    run: |data| {
        if let Some(pods) = Pods::of_answer(data) {
            for one in &pods.assignments {
                assert!(!pods.owners(&one.device, "0").is_empty() || one.device.contains("::"));
            }
        }
    },
    dictionary: &[
        "nvidia.com/gpu",
        "nvidia.com/mig-1g.18gb",
        "GPU-00000000::1",
        "\x0a\x02",
        "\x12\x04",
        "\x1a\x7f",
    ],
};

pub(super) const GPU_METRICS: Target = Target {
    name: "gpu_metrics",
    run: |data| {
        let Ok(metrics) = GpuMetrics::of_bytes(data) else {
            return;
        };
        let shares = [metrics.busy_percent, metrics.media_percent];
        let shares = shares.into_iter().flatten();
        assert!(shares.into_iter().all(|share| (0..=100).contains(&share)));
    },
    dictionary: &[
        "\x78\x00\x01\x03",
        "\x20\x01\x01\x04",
        "\x20\x00\x01\x09",
        "\x01\x00\x20\x00",
        "\x08\x01\x03\x00",
        "\x7f\x7f",
    ],
};

pub(super) const FDINFO: Target = Target {
    name: "fdinfo",
    run: |data| {
        text(data, |file| {
            if let Some(client) = DrmClient::of_text(file) {
                assert!(client.engines.iter().all(|engine| engine.capacity > 0));
            }
        });
    },
    dictionary: &[
        "drm-driver: ",
        "drm-pdev: 0000:03:00.0\n",
        "drm-client-id: 1\n",
        "drm-engine-gfx: 1 ns\n",
        "drm-engine-capacity-video: 2\n",
        "drm-cycles-rcs: ",
        "drm-total-cycles-rcs: ",
        "drm-memory-vram: 1 KiB\n",
        "drm-resident-vram0: ",
        "18446744073709551615",
        " MiB",
    ],
};

pub(super) const WEB_CONFIG: Target = Target {
    name: "web_config",
    run: |data| {
        scratch::file("web.yml", data, |path| {
            let _ = WebConfig::read(path);
        });
    },
    dictionary: &[
        "basic_auth_users:\n",
        "tls_server_config:\n",
        "  cert_file: ",
        "  key_file: ",
        "http_server_config:\n",
        "  a: $2y$10$",
        "'",
        "#",
    ],
};

pub(super) const WISDOM: Target = Target {
    name: "wisdom",
    run: |data| {
        text(data, |wisdom| {
            let _ = Wisdom::parse(wisdom);
        });
    },
    dictionary: &[
        "\"format\":",
        "\"operations\":",
        "\"points\":",
        "null",
        "1e999",
        "[]",
        "{}",
    ],
};
