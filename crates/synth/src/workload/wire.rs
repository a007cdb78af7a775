//! `synth/wire`: what it costs to put a block of samples into frames for listeners.

use warpsmith_core::{Bytes, Flops};
use warpsmith_device::Device;
use warpsmith_formats::base64;
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ActsOn, ArguedTolerance, Cost, Judgement, Output, ParameterSpec, Parameters, Prepared,
    Ready, Technique, Workload, WorkloadError,
};

pub(crate) struct Wire;

pub(crate) const ID: &str = "synth/wire";
/// 100 ms at 44.1 kHz.
const FRAMES: usize = 4410;

const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec::choice(
        "wire",
        "raw 16-bit samples, raw floats, or base64 inside JSON as the original sends",
        &["pcm16", "f32", "json-base64"],
    ),
    ParameterSpec::choice(
        "encode",
        "once for all listeners of a stream, or for each",
        &["shared", "per-client"],
    ),
    ParameterSpec::integer("clients", "listeners of the stream", 16, 1, 1 << 16),
];

const TECHNIQUES: &[Technique] = &[
    Technique {
        name: "binary wire",
        parameter: "wire",
        off: "json-base64",
        on: "pcm16",
        meaning: "samples as they are instead of base64 inside JSON",
        acts_on: ActsOn::Any,
        effort: Judgement::Low,
        risk: Judgement::Low,
    },
    Technique {
        name: "shared encoding",
        parameter: "encode",
        off: "per-client",
        on: "shared",
        meaning: "one encoding for all listeners of a stream",
        acts_on: ActsOn::Any,
        effort: Judgement::Low,
        risk: Judgement::Low,
    },
];

/// Bytes of one frame on the wire.
pub(crate) fn frame_bytes(wire: &str) -> u64 {
    let raw = 4 * FRAMES as u64;
    match wire {
        "f32" => 2 * raw,
        "json-base64" => raw.div_ceil(3) * 4 + JSON_HEAD.len() as u64 + JSON_TAIL.len() as u64,
        _ => raw + 32,
    }
}

const JSON_HEAD: &str =
    r#"{"type":"audio","format":"pcm16","sample_rate":44100,"sequence":0,"data":""#;
const JSON_TAIL: &str = r#""}"#;

impl Workload for Wire {
    fn about(&self) -> About {
        About::new(
            ID,
            "100 ms of samples into frames for the listeners of one stream",
            PARAMETERS,
        )
        .techniques(TECHNIQUES)
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let encodings = match parameters.choice("encode") {
            "shared" => 1,
            _ => parameters.integer("clients"),
        };
        Cost {
            bytes: Bytes(encodings * (4 * FRAMES as u64 + frame_bytes(parameters.choice("wire")))),
            flops: Flops(0),
            units: parameters.integer("clients"),
            unit: "listener",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance::exact("bytes")
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        if device.cuda().is_some() {
            return Err(WorkloadError::Unsupported {
                workload: ID,
                reason: "frames are made where the sockets are, on the host".to_owned(),
            });
        }
        let mut random = Random::seeded(seed);
        let floats: Vec<f32> = (0..2 * FRAMES)
            .map(|_| random.unit() as f32 - 0.5)
            .collect();
        Ok(Box::new(Frames {
            samples: floats.iter().map(|x| (x * 32_767.0) as i16).collect(),
            floats,
            wire: parameters.choice("wire").to_owned(),
            encodings: match parameters.choice("encode") {
                "shared" => 1,
                _ => parameters.size("clients"),
            },
            raw: Vec::with_capacity(8 * FRAMES),
            frame: Vec::with_capacity(16 * FRAMES),
        }))
    }
}

struct Frames {
    samples: Vec<i16>,
    floats: Vec<f32>,
    wire: String,
    encodings: usize,
    raw: Vec<u8>,
    frame: Vec<u8>,
}

impl Prepared for Frames {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        for _ in 0..self.encodings {
            self.frame.clear();
            match self.wire.as_str() {
                "f32" => {
                    let bytes = self.floats.iter().flat_map(|sample| sample.to_le_bytes());
                    self.frame.extend(bytes);
                }
                "json-base64" => {
                    self.raw.clear();
                    self.raw
                        .extend(self.samples.iter().flat_map(|sample| sample.to_le_bytes()));
                    self.frame.extend_from_slice(JSON_HEAD.as_bytes());
                    base64::encode_onto(&self.raw, &mut self.frame);
                    self.frame.extend_from_slice(JSON_TAIL.as_bytes());
                }
                _ => {
                    self.frame.extend_from_slice(&[0; 32]);
                    self.frame
                        .extend(self.samples.iter().flat_map(|sample| sample.to_le_bytes()));
                }
            }
            std::hint::black_box(&self.frame);
        }
        Ok(())
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.frame.clear();
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::U8(self.frame.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_long_as_they_say() {
        for wire in ["pcm16", "json-base64"] {
            let parameters =
                Parameters::resolve(PARAMETERS, &[("wire".into(), wire.into())]).unwrap();
            let device = Device::open(warpsmith_device::DeviceChoice::Cpu).unwrap();
            let mut prepared = Wire.prepare(&device, &parameters, 1).unwrap();
            prepared.run_once().unwrap();
            assert_eq!(prepared.output().unwrap().len() as u64, frame_bytes(wire));
        }
    }
}
