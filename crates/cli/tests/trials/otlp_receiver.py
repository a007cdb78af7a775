"""A receiver of OTLP/HTTP that decodes with OpenTelemetry's own classes.

Takes a port to listen on and the port of the exporter that pushes. Compares the third batch with the
exporter's page and ends: with 0 where they say the same, else with 1 and what differs.
"""

import http.server
import sys
import threading
import urllib.request

from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_CUMULATIVE

PORT, EXPORTER = int(sys.argv[1]), int(sys.argv[2])
UNITS = {"W": "_watts", "J": "_joules", "Cel": "_celsius", "Hz": "_hertz", "By": "_bytes",
         "By/s": "_bytes_per_second", "s": "_seconds", "1": "_ratio", "": ""}
batches, third = [], threading.Event()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        batches.append((self.path, dict(self.headers), body))
        answer = ExportMetricsServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        if len(batches) == 3:
            third.set()

    def log_message(self, *_):
        pass


def check(condition, what):
    if not condition:
        print(what)
        sys.exit(1)


def has_unknown_fields(message):
    if len(UnknownFieldSet(message)):
        return True
    for field, value in message.ListFields():
        if field.message_type:
            parts = value if hasattr(value, "append") else [value]
            if any(has_unknown_fields(part) for part in parts):
                return True
    return False


def page():
    """The exporter's page: values by name and labels."""
    text = urllib.request.urlopen(f"http://127.0.0.1:{EXPORTER}/metrics", timeout=20).read().decode()
    values = {}
    for line in text.splitlines():
        if line.startswith("warpsmith_") and not line.startswith("warpsmith_exporter_"):
            series, value = line.rsplit(" ", 1)
            name, _, labels = series.partition("{")
            pairs = [pair.split("=", 1) for pair in labels.rstrip("}").split('",') if pair]
            labels = tuple(sorted((k, v.strip('"')) for k, v in pairs if v.strip('"')))
            values[name, labels] = float(value)
    return values


server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("ready", flush=True)
check(third.wait(60), "no three batches within a minute")
path, headers, body = batches[2]
check(path == "/v1/metrics", path)
check(headers.get("x-scope") == "gpu", headers)
request = ExportMetricsServiceRequest.FromString(body)
check(not has_unknown_fields(request), "fields that the schema does not have")
check(len(request.resource_metrics) == 1, "one resource")
resource = request.resource_metrics[0]
attributes = {pair.key: pair.value.string_value for pair in resource.resource.attributes}
for name, value in {"service.name": "warpsmith", "rack": "r1", "os.type": "linux"}.items():
    check(attributes.get(name) == value, f"{name} of {attributes}")
check(attributes.get("host.name"), attributes)
scope = resource.scope_metrics[0]
check(scope.scope.name == "warpsmith" and scope.scope.version, scope.scope)

known, pushed, hardware = page(), {}, {}
for metric in scope.metrics:
    kind = metric.WhichOneof("data")
    data = getattr(metric, kind)
    check(kind in ("gauge", "sum") and metric.description and len(data.data_points), metric.name)
    if kind == "sum":
        check(data.aggregation_temporality == AGGREGATION_TEMPORALITY_CUMULATIVE, metric.name)
    for point in data.data_points:
        check(point.WhichOneof("value") == "as_double" and point.time_unix_nano > 1.7e18, metric.name)
        if kind == "sum":
            check(1.7e18 < point.start_time_unix_nano <= point.time_unix_nano, metric.name)
        labels = tuple(sorted((pair.key, pair.value.string_value) for pair in point.attributes))
        if metric.name.startswith("hw."):
            hardware[metric.name, labels] = point.as_double
            check(dict(labels)["hw.type"] == "gpu" and dict(labels)["hw.id"].startswith("GPU-"), labels)
        else:
            # As Prometheus makes a name of it.
            total = "_total" if kind == "sum" and data.is_monotonic else ""
            pushed[metric.name.replace(".", "_") + UNITS[metric.unit] + total, labels] = point.as_double
check(set(pushed) == set(known), f"not on both: {sorted(set(pushed) ^ set(known))}")
steady = [name for name in pushed if "busy" in name[0] or "temperature" in name[0] or "_info" in name[0]
          or "memory_used" in name[0] or "ecc_" in name[0]]
check(len(steady) > 10, steady)
for name in steady:
    if not name[0].startswith("warpsmith_host"):
        check(pushed[name] == known[name], f"{name}: {pushed[name]} is not {known[name]}")
names = {name for name, _ in hardware}
for name in ("hw.status", "hw.gpu.utilization", "hw.gpu.memory.usage", "hw.gpu.memory.limit",
             "hw.gpu.memory.utilization", "hw.gpu.io", "hw.power", "hw.energy", "hw.temperature", "hw.errors"):
    check(name in names, f"{name} is not in {sorted(names)}")
busy = [value for (name, labels), value in hardware.items()
        if name == "hw.gpu.utilization" and dict(labels)["hw.gpu.task"] == "general"]
check(busy == [0.73, 0.73], busy)
