//! Which pod has which GPU, as the kubelet knows it: its pod-resources socket, version 1.
//!
//! Of the answer four fields are read, by hand: a protobuf message is a list of numbered fields, and
//! unknown numbers are skipped, so that newer kubelets are understood too.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use warpsmith_http::grpc::{CallLimits, call};

use super::protobuf::{Field, fields};

/// Where the kubelet listens.
pub const KUBELET_SOCKET: &str = "/var/lib/kubelet/pod-resources/kubelet.sock";
const METHOD: &str = "/v1.PodResourcesLister/List";
const LIMITS: CallLimits = CallLimits {
    deadline: Duration::from_secs(2),
    // What kubelets send at most.
    bytes: 16 << 20,
};
/// Pods come and go over seconds.
const PERIOD: Duration = Duration::from_secs(5);
/// After so long without an answer, who has which GPU is not known any more.
const FORGET: Duration = Duration::from_secs(60);

/// A container that was given a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assignment {
    /// The kubelet's name for the device: a uuid of a GPU or MIG instance, or an index.
    pub device: String,
    /// Namespace of the pod.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
}

/// What the kubelet said last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pods {
    /// Sorted, each once.
    pub assignments: Vec<Assignment>,
    /// Why the kubelet does not answer, where it does not.
    pub failure: Option<String>,
}

impl Pods {
    /// Reads the kubelet's answer, `ListPodResourcesResponse`; `None` where it is none.
    pub fn of_answer(message: &[u8]) -> Option<Self> {
        Some(Self {
            assignments: assignments(message)?,
            failure: None,
        })
    }

    /// The containers that have a GPU, or shares of it: each once.
    pub fn owners(&self, uuid: &str, index: &str) -> Vec<&Assignment> {
        let mine = |one: &&Assignment| {
            // A GPU that is shared by time is given out several times: `GPU-…::3`.
            let device = one.device.split("::").next().unwrap_or_default();
            device == uuid || device == index
        };
        let mut owners: Vec<&Assignment> = self.assignments.iter().filter(mine).collect();
        owners.sort_unstable_by(|one, other| one.place().cmp(&other.place()));
        owners.dedup_by(|one, other| one.place() == other.place());
        owners
    }
}

impl Assignment {
    /// The container, without its device.
    fn place(&self) -> (&str, &str, &str) {
        (&self.namespace, &self.pod, &self.container)
    }
}

/// Asks the kubelet every few seconds, from a thread of its own, until it is dropped.
pub struct PodWatch {
    known: Arc<Mutex<Pods>>,
}

impl PodWatch {
    /// Asks once, so that the first page has the pods, and then again and again.
    pub fn start(socket: &Path) -> std::io::Result<Self> {
        let known = Arc::new(Mutex::new(Pods::default()));
        let socket = socket.to_owned();
        let mut answered = take(&socket, &known, Instant::now());
        let watched = Arc::downgrade(&known);
        let watch = move || {
            loop {
                thread::sleep(PERIOD);
                let Some(known) = watched.upgrade() else {
                    return;
                };
                answered = take(&socket, &known, answered);
            }
        };
        thread::Builder::new()
            .name("pods".to_owned())
            .spawn(watch)?;
        Ok(Self { known })
    }

    /// What the kubelet said last.
    pub fn now(&self) -> Pods {
        lock(&self.known).clone()
    }
}

fn lock(pods: &Mutex<Pods>) -> MutexGuard<'_, Pods> {
    pods.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks once; returns when the kubelet last answered.
fn take(socket: &Path, pods: &Mutex<Pods>, answered: Instant) -> Instant {
    let answer = call(socket, METHOD, b"", LIMITS).map_err(|error| error.to_string());
    let answer =
        answer.and_then(|message| Pods::of_answer(&message).ok_or("no list of pods".to_owned()));
    let mut known = lock(pods);
    match answer {
        Ok(pods) => {
            *known = pods;
            Instant::now()
        }
        Err(reason) => {
            if answered.elapsed() > FORGET {
                known.assignments.clear();
            }
            known.failure = Some(format!("{}: {reason}", socket.display()));
            answered
        }
    }
}

/// Reads `ListPodResourcesResponse`; `None` where it is none.
fn assignments(message: &[u8]) -> Option<Vec<Assignment>> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    let mut list = Vec::new();
    for field in fields(message) {
        let Field::Bytes(1, pod) = field? else {
            continue;
        };
        let mut owner = Assignment::default();
        let mut containers = Vec::new();
        for field in fields(pod) {
            match field? {
                Field::Bytes(1, name) => owner.pod = text(name)?,
                Field::Bytes(2, namespace) => owner.namespace = text(namespace)?,
                Field::Bytes(3, container) => containers.push(container),
                _ => {}
            }
        }
        for container in containers {
            let mut owner = owner.clone();
            let mut devices = Vec::new();
            for field in fields(container) {
                match field? {
                    Field::Bytes(1, name) => owner.container = text(name)?,
                    Field::Bytes(2, device) => devices.push(device),
                    _ => {}
                }
            }
            for device in devices {
                list.extend(given(device, &owner)?);
            }
        }
    }
    list.sort_unstable();
    list.dedup();
    Some(list)
}

/// Reads `ContainerDevices`: those of NVIDIA's resources, which are GPUs and MIG instances.
fn given(message: &[u8], owner: &Assignment) -> Option<Vec<Assignment>> {
    let mut nvidia = false;
    let mut ids = Vec::new();
    for field in fields(message) {
        match field? {
            Field::Bytes(1, name) => nvidia = name.starts_with(b"nvidia.com/"),
            Field::Bytes(2, id) => ids.push(String::from_utf8(id.to_vec()).ok()?),
            _ => {}
        }
    }
    let given = |device| Assignment {
        device,
        ..owner.clone()
    };
    Some(match nvidia {
        true => ids.into_iter().map(given).collect(),
        false => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field with a message or a text in it.
    fn field(number: u8, inside: &[u8]) -> Vec<u8> {
        let mut bytes = vec![number << 3 | 2];
        let mut length = inside.len();
        while length >= 0x80 {
            bytes.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        bytes.push(length as u8);
        bytes.extend_from_slice(inside);
        bytes
    }

    fn devices(resource: &str, ids: &[&str]) -> Vec<u8> {
        let ids = ids.iter().flat_map(|id| field(2, id.as_bytes()));
        // Behind them the topology, of no interest here: a message and a number.
        let topology = field(3, &field(1, &[8, 1]));
        let whole: Vec<u8> = field(1, resource.as_bytes())
            .into_iter()
            .chain(ids)
            .chain(topology)
            .collect();
        field(2, &whole)
    }

    fn pod(name: &str, containers: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut inside = [field(1, name.as_bytes()), field(2, b"ml")].concat();
        for (name, devices) in containers {
            // Packed numbers of CPUs, which are skipped.
            let container = [
                field(1, name.as_bytes()),
                devices.clone(),
                field(3, &[1, 2, 3]),
            ]
            .concat();
            inside.extend(field(3, &container));
        }
        field(1, &inside)
    }

    #[test]
    fn pods_with_gpus_are_found_and_the_others_are_not() {
        let message = [
            pod(
                "train-0",
                &[
                    ("main", devices("nvidia.com/gpu", &["GPU-a", "GPU-b"])),
                    ("side", Vec::new()),
                ],
            ),
            pod(
                "shared-1",
                &[("main", devices("nvidia.com/gpu.shared", &["GPU-c::1"]))],
            ),
            pod(
                "shared-2",
                &[(
                    "main",
                    devices("nvidia.com/gpu.shared", &["GPU-c::0", "GPU-c::2"]),
                )],
            ),
            pod("net", &[("main", devices("rdma/hca", &["GPU-a"]))]),
            pod("by-index", &[("main", devices("nvidia.com/gpu", &["7"]))]),
        ]
        .concat();
        let pods = Pods {
            assignments: assignments(&message).expect("a list"),
            failure: None,
        };
        let of = |uuid: &str, index: &str| -> Vec<String> {
            let owners = pods.owners(uuid, index).into_iter();
            owners
                .map(|one| format!("{}/{}/{}", one.namespace, one.pod, one.container))
                .collect()
        };
        assert_eq!(of("GPU-a", "0"), ["ml/train-0/main"]);
        assert_eq!(of("GPU-b", "1"), ["ml/train-0/main"]);
        assert_eq!(of("GPU-c", "2"), ["ml/shared-1/main", "ml/shared-2/main"]);
        assert_eq!(of("GPU-d", "7"), ["ml/by-index/main"]);
        assert_eq!(of("GPU-e", "3"), [""; 0]);
        assert_eq!(assignments(b""), Some(Vec::new()), "a node without pods");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        let whole = pod(
            "train-0",
            &[("main", devices("nvidia.com/gpu", &["GPU-a"]))],
        );
        for end in 1..whole.len() {
            assert_eq!(
                assignments(&whole[..end]),
                None,
                "{end} bytes of {}",
                whole.len()
            );
        }
        assert_eq!(
            assignments(&field(1, &field(1, &[0xFF]))),
            None,
            "a name that is no text"
        );
    }
}
