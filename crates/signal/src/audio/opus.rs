//! Opus (RFC 6716) as it stands in Ogg (RFC 7845), WebM and MP4: what its header says, and its packets as
//! samples at 48 kHz.

use opus_pure::OpusMSDecoder;

/// The rate of everything that is decoded; the rate in the header is a note about the recording.
pub(super) const RATE: u32 = 48_000;

/// Samples of the longest packet, 120 ms.
const LONGEST: usize = 5_760;

/// Bytes of a header without a table of channels.
const SHORT_HEAD: usize = 19;

/// A stream's decoder.
pub(super) struct Opus {
    decoder: OpusMSDecoder,
    /// Samples at the start that let the decoder settle, and are not part of the sound.
    pub(super) skip: u64,
    pub(super) channels: usize,
    /// What the header wants samples to be multiplied by.
    gain: f32,
    interleaved: Vec<f32>,
}

impl Opus {
    /// The decoder for a stream with this header (`OpusHead`).
    pub(super) fn new(head: &[u8]) -> Result<Self, String> {
        let Some((start, table)) = head.split_at_checked(SHORT_HEAD) else {
            return Err("its Opus header ends early".into());
        };
        if !start.starts_with(b"OpusHead") {
            return Err("its Opus header does not begin with `OpusHead`".into());
        }
        let (channels, family) = (usize::from(start[9]), start[18]);
        let decoder = OpusMSDecoder::new(RATE as i32, channels, family).map_err(|_| {
            format!("{channels} channels of Opus in family {family} are not supported")
        })?;
        let layout = decoder.layout();
        let standard = [layout.nb_streams as u8, layout.nb_coupled_streams as u8];
        if family > 0 && !(table.starts_with(&standard) && table[2..].starts_with(&layout.mapping))
        {
            return Err(format!(
                "its {channels} channels of Opus are not in the usual order"
            ));
        }
        let gain = f32::from(i16::from_le_bytes([start[16], start[17]])) / 256.0;
        Ok(Self {
            skip: u64::from(u16::from_le_bytes([start[10], start[11]])),
            channels,
            gain: 10.0f32.powf(gain / 20.0),
            interleaved: vec![0.0; LONGEST * channels],
            decoder,
        })
    }

    /// Decodes a packet to a signal of each channel.
    pub(super) fn decode(&mut self, packet: &[u8], to: &mut [Vec<f32>]) -> Result<(), String> {
        // An empty packet would ask the decoder to guess what was lost.
        if packet.is_empty() {
            return Err("a packet is empty".into());
        }
        let frames = self
            .decoder
            .decode(packet, LONGEST, &mut self.interleaved)
            .map_err(|error| error.to_string())?;
        let samples = &self.interleaved[..frames * self.channels];
        for (number, channel) in to.iter_mut().enumerate() {
            channel.clear();
            let own = samples.iter().skip(number).step_by(self.channels);
            channel.extend(own.map(|x| x * self.gain));
        }
        Ok(())
    }
}
