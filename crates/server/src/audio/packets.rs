//! Opus packets of a listener's stream, one to an audio frame; none in builds without the feature
//! `opus`.
//!
//! A packet stands for the positions of its frame. What a decoder gives for them is late by the
//! codec's own look-ahead, in every packet by the same.

#[cfg(feature = "opus")]
pub(crate) use with_opus::Packets;
#[cfg(not(feature = "opus"))]
pub(crate) use without_opus::Packets;

#[cfg(feature = "opus")]
mod with_opus {
    use ropus::{Application, Bitrate, Channels, Encoder, Signal};

    /// Bits a second: transparent for this music.
    const BITRATE: u32 = 128_000;
    /// Half of the work of the most thorough search, hardly a difference.
    const COMPLEXITY: u8 = 5;
    /// The longest packet of 60 ms.
    const MOST_BYTES: usize = 4_000;

    /// The encoder and its last packet.
    pub(crate) struct Packets {
        encoder: Encoder,
        samples: Vec<i16>,
        packet: Vec<u8>,
        length: usize,
    }

    impl std::fmt::Debug for Packets {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("Packets")
                .field("length", &self.length)
                .finish_non_exhaustive()
        }
    }

    impl Packets {
        /// An encoder of frames of `frame` samples at `rate`; absent where Opus knows none such.
        pub(crate) fn new(rate: u32, frame: u32) -> Option<Self> {
            let encoder = Encoder::builder(rate, Channels::Stereo, Application::Audio)
                .bitrate(Bitrate::Bits(BITRATE))
                .complexity(COMPLEXITY)
                .signal(Signal::Music)
                .build()
                .ok()?;
            Some(Self {
                encoder,
                samples: Vec::with_capacity(2 * frame as usize),
                packet: vec![0; MOST_BYTES],
                length: 0,
            })
        }

        /// Encodes a frame that lies in two pieces.
        pub(crate) fn encode(&mut self, pieces: [&[u8]; 2]) {
            self.samples.clear();
            for piece in pieces {
                self.samples
                    .extend_from_slice(bytemuck::cast_slice::<u8, i16>(piece));
            }
            // An empty packet is one that was lost: decoders know what to do about it.
            let encoded = self.encoder.encode(&self.samples, &mut self.packet);
            self.length = encoded.unwrap_or(0);
        }

        /// The last packet.
        pub(crate) fn bytes(&self) -> &[u8] {
            &self.packet[..self.length]
        }
    }
}

#[cfg(not(feature = "opus"))]
mod without_opus {
    /// There are none.
    #[derive(Debug)]
    pub(crate) enum Packets {}

    impl Packets {
        pub(crate) fn new(_rate: u32, _frame: u32) -> Option<Self> {
            None
        }

        pub(crate) fn encode(&mut self, _pieces: [&[u8]; 2]) {
            match *self {}
        }

        pub(crate) fn bytes(&self) -> &[u8] {
            match *self {}
        }
    }
}
