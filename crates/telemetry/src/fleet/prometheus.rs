//! A fleet as a Prometheus knows it: what it has scraped last from every exporter, by its HTTP API.
//!
//! One query has every series that the table needs, another the counters of a while ago, for shares of
//! time. Series are added to their hosts while the answer is parsed, so that memory is that of the table
//! and of the answer's bytes, which are bounded.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use warpsmith_http::client::{ReadError, ReadLimits, Target, read_pages};

use super::collect::{FleetError, Reading, authorized};
use super::exposition::Sample;
use super::reading::{HostReading, metric_names};
use crate::endpoint::{Defaults, Endpoint};
use crate::trust::trust;

const DEFAULTS: Defaults = Defaults {
    port: 9090,
    port_of_http: 80,
    port_of_https: 443,
    path: "",
};
/// Longest answer: 10,000 GPUs have 40 MB.
const ANSWER_BYTES: usize = 64 << 20;
/// Most hosts of one answer.
const MOST_HOSTS: usize = 10_000;
/// Labels that the table is made of. Without the others, copies of a series are one.
const LABELS: &str = "__name__, job, instance, gpu, uuid, UUID, GPU_I_ID, name, modelName, \
                      driver, DCGM_FI_DRIVER_VERSION, version, reason, xid";

/// The Prometheus at this address; port 9090 where it names none.
pub fn prometheus_endpoint(text: &str) -> Result<Endpoint, String> {
    Endpoint::parse(text, &DEFAULTS)
        .map_err(|why| format!("{why} (hint: write `http://prometheus:9090`)"))
}

/// Reads every GPU that a Prometheus knows; shares of time are over the last `how.over`.
pub fn read_prometheus(server: &Endpoint, how: &Reading) -> Result<Vec<HostReading>, FleetError> {
    let failed = |cause: String| FleetError::Prometheus {
        place: server.to_string(),
        cause,
    };
    let tls = match (server.tls, &how.authorities) {
        (false, _) => None,
        (true, Some(path)) => Some(trust(path)?),
        (true, None) => return Err(FleetError::NoAuthorities(server.to_string())),
    };
    let question = |offset: &str| Target {
        host: server.host.clone(),
        port: server.port,
        path: format!("{}/api/v1/query", server.path.trim_end_matches('/')),
        headers: authorized(how),
        post: Some((
            "application/x-www-form-urlencoded",
            format!("query={}", percent_encoded(&query(offset))).into(),
        )),
        tls: tls.clone(),
    };
    let mut questions = vec![question("")];
    if !how.over.is_zero() {
        questions.push(question(&format!(" offset {}ms", how.over.as_millis())));
    }
    let limits = ReadLimits {
        deadline: how.deadline,
        body_bytes: ANSWER_BYTES,
        at_once: 1,
        // One answer in memory at a time.
        pages_at_once: 1,
    };
    let mut answers = [const { Ok(QueryAnswer::EMPTY) }; 2];
    read_pages(&questions, limits, |position, page| {
        answers[position] = match page {
            Ok(page) => QueryAnswer::of_body(page.status, &page.body),
            Err(ReadError::TooLong(most)) => Err(format!("its answer is longer than {most} bytes")),
            Err(error) => Err(error.to_string()),
        };
    })?;
    let [now, before] = answers;
    let (now, before) = (now.map_err(failed)?, before.map_err(failed)?);
    now.hosts(&before, how.over.as_secs_f64()).map_err(failed)
}

fn query(offset: &str) -> String {
    let mut names: Vec<&str> = metric_names().collect();
    names.push("up");
    format!(
        "max by ({LABELS}) ({{__name__=~\"{}\"}}{offset})",
        names.join("|")
    )
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(3 * text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(byte.into());
            }
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

/// What a Prometheus answered: hosts by `instance`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueryAnswer {
    hosts: BTreeMap<String, HostReading>,
    /// Jobs that have series of GPUs.
    jobs: BTreeSet<String>,
    /// Targets that could not be scraped, with their job.
    unscraped: BTreeMap<String, String>,
}

/// The envelope of every answer.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    error: Option<Cow<'a, str>>,
    #[serde(default)]
    data: Option<Data<'a>>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(rename = "resultType", borrow)]
    kind: Cow<'a, str>,
    result: QueryAnswer,
}

/// One series with its last value, which is a text.
#[derive(Deserialize)]
struct Series {
    metric: BTreeMap<String, String>,
    value: (f64, String),
}

impl QueryAnswer {
    const EMPTY: Self = Self {
        hosts: BTreeMap::new(),
        jobs: BTreeSet::new(),
        unscraped: BTreeMap::new(),
    };

    /// Reads an answer to an instant query; an error says what came instead.
    pub fn of_body(status: u16, body: &[u8]) -> Result<Self, String> {
        if status == 401 {
            return Err("wants a user and a password (`--user`, `--password-file`)".into());
        }
        let envelope: Envelope<'_> =
            serde_json::from_slice(body).map_err(|error| match status {
                200 => format!("not an answer of Prometheus: {error}"),
                status => {
                    format!(
                        "answers with status {status} (hint: is this the address of a Prometheus?)"
                    )
                }
            })?;
        if let Some(error) = envelope.error {
            return Err(format!("refuses the query: {}", one_line(&error)));
        }
        match envelope.data {
            Some(data) if data.kind == "vector" && status == 200 => Ok(data.result),
            Some(data) if status == 200 => Err(format!(
                "not an answer of Prometheus: a {} instead of a vector",
                one_line(&data.kind)
            )),
            _ => Err(format!("answers with status {status} and no data")),
        }
    }

    /// The hosts with the shares of time since `before`, and those that were not scraped.
    pub fn hosts(mut self, before: &Self, seconds: f64) -> Result<Vec<HostReading>, String> {
        self.jobs.extend(before.jobs.iter().cloned());
        for (instance, host) in &mut self.hosts {
            if let Some(before) = before.hosts.get(instance) {
                host.since(before, seconds);
            }
        }
        for (instance, job) in &self.unscraped {
            if self.jobs.contains(job) && !self.hosts.contains_key(instance) {
                let down = HostReading::down(
                    instance.clone(),
                    "Prometheus cannot scrape it: `up` is 0".to_owned(),
                );
                self.hosts.insert(instance.clone(), down);
            }
        }
        match self.hosts.is_empty() {
            true => Err(
                "has no metrics of GPUs (hint: it has to scrape `warpsmith export` or dcgm-exporter)"
                    .to_owned(),
            ),
            false => Ok(self.hosts.into_values().collect()),
        }
    }

    fn take(&mut self, series: &Series) -> Result<(), String> {
        let Series { metric, value } = series;
        let label = |name: &str| metric.get(name).map_or("", String::as_str);
        let value: f64 = value
            .1
            .parse()
            .map_err(|_| format!("`{}` is not a value", one_line(&value.1)))?;
        let (name, instance, job) = (label("__name__"), label("instance"), label("job"));
        if name == "up" {
            if value == 0.0 && self.unscraped.len() < MOST_HOSTS {
                self.unscraped.insert(instance.to_owned(), job.to_owned());
            }
            return Ok(());
        }
        if !self.jobs.contains(job) {
            self.jobs.insert(job.to_owned());
        }
        if !self.hosts.contains_key(instance) {
            if self.hosts.len() == MOST_HOSTS {
                return Err(format!("has more than {MOST_HOSTS} hosts"));
            }
            self.hosts
                .insert(instance.to_owned(), HostReading::named(instance.to_owned()));
        }
        let labels = metric.iter();
        let sample = Sample {
            name,
            labels: labels
                .map(|(name, value)| (name.as_str(), Cow::Borrowed(value.as_str())))
                .collect(),
            value,
        };
        match self.hosts.get_mut(instance) {
            Some(host) => host.take(&sample),
            None => Ok(()),
        }
    }
}

/// A stranger's words as they can be printed.
fn one_line(text: &str) -> String {
    let plain = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter });
    plain.take(200).collect()
}

impl<'de> Deserialize<'de> for QueryAnswer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = QueryAnswer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of series")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<QueryAnswer, A::Error> {
                let mut answer = QueryAnswer::default();
                while let Some(series) = list.next_element::<Series>()? {
                    answer.take(&series).map_err(de::Error::custom)?;
                }
                Ok(answer)
            }
        }

        deserializer.deserialize_seq(List)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, instance: &str, more: &str, value: &str) -> String {
        format!(
            r#"{{"metric":{{"__name__":"{name}","job":"gpu","instance":"{instance}"{more}}},"value":[1700000000.5,"{value}"]}}"#
        )
    }

    fn vector(series: &[String]) -> String {
        format!(
            r#"{{"status":"success","data":{{"resultType":"vector","result":[{}]}}}}"#,
            series.join(",")
        )
    }

    const GPU: &str = r#","gpu":"0","uuid":"GPU-a""#;

    #[test]
    fn series_become_hosts_and_counters_shares_of_time() {
        let held = |seconds: &str| {
            let reason = format!("{GPU},\"reason\":\"thermal\"");
            series(
                "warpsmith_gpu_throttle_seconds_total",
                "n1",
                &reason,
                seconds,
            )
        };
        let name = format!("{GPU},\"name\":\"NVIDIA H200 \\u0041\"");
        let now = vector(&[
            series("warpsmith_gpu_info", "n1", &name, "1"),
            series("warpsmith_gpu_power_watts", "n1", GPU, "690.5"),
            series("warpsmith_gpu_temperature_celsius", "n1", GPU, "NaN"),
            held("40"),
            series(
                "DCGM_FI_DEV_GPU_UTIL",
                "n2",
                r#","gpu":"0","UUID":"GPU-b","modelName":"X""#,
                "98",
            ),
            series("up", "n1", "", "1"),
            series("up", "n3", "", "0"),
            series("up", "n4", "", "0").replace("\"gpu\"", "\"node\""),
        ]);
        let now = QueryAnswer::of_body(200, now.as_bytes()).unwrap();
        let before = QueryAnswer::of_body(200, vector(&[held("10")]).as_bytes()).unwrap();
        let hosts = now.hosts(&before, 60.0).unwrap();
        let names: Vec<_> = hosts.iter().map(|host| host.host.as_str()).collect();
        assert_eq!(names, ["n1", "n2", "n3"], "other jobs are none of ours");
        let gpu = &hosts[0].gpus[0];
        assert_eq!(
            (&*gpu.name, gpu.power_watts),
            ("NVIDIA H200 A", Some(690.5))
        );
        assert_eq!(gpu.temperature_celsius, None, "NaN is no temperature");
        assert_eq!(gpu.held_back["thermal"], 0.5);
        assert_eq!(hosts[1].gpus[0].busy_ratio, Some(0.98));
        assert!(hosts[2].down.as_deref().unwrap().contains("`up` is 0"));
    }

    #[test]
    fn what_is_no_answer_is_named() {
        let refusal =
            |status, body: &str| QueryAnswer::of_body(status, body.as_bytes()).unwrap_err();
        for (status, body, why) in [
            (200, "<html>", "not an answer of Prometheus"),
            (200, "{}", "no data"),
            (200, r#"{"status":"success","data":null}"#, "no data"),
            (
                200,
                r#"{"data":{"resultType":"matrix","result":[]}}"#,
                "a matrix instead",
            ),
            (
                200,
                r#"{"data":{"resultType":"scalar","result":[1,"2"]}}"#,
                "not an answer",
            ),
            (
                200,
                r#"{"data":{"resultType":"vector","result":[{"metric":{},"value":[1,"x\u001b"]}]}}"#,
                "`x ` is not a value",
            ),
            (
                400,
                r#"{"status":"error","errorType":"bad_data","error":"parse\nerror"}"#,
                "refuses the query: parse error",
            ),
            (401, "", "--user"),
            (404, "404 page not found", "address of a Prometheus"),
            (503, "busy", "status 503"),
        ] {
            let said = refusal(status, body);
            assert!(
                said.contains(why) && !said.contains('\u{1b}'),
                "{body}: {said}"
            );
        }
        let empty = QueryAnswer::of_body(200, vector(&[]).as_bytes()).unwrap();
        let nothing = empty.clone().hosts(&empty, 60.0).unwrap_err();
        assert!(nothing.contains("no metrics of GPUs"), "{nothing}");
    }
}
