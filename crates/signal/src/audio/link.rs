//! One logical stream: a track, its decoder, and which part of what comes out is the recording. A chained Ogg
//! file has several, one after the other.

use symphonia::core::codecs::audio::well_known::CODEC_ID_OPUS;
use symphonia::core::codecs::audio::{AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error;
use symphonia::core::formats::Track;
use symphonia::core::packet::Packet;

use super::gapless::Part;
use super::opus::{self, Opus};
use crate::error::NO_DECODER;

/// A logical stream that is being decoded.
pub(super) struct Link {
    pub(super) track: u32,
    /// Samples that its header promises.
    pub(super) declared: Option<u64>,
    /// Samples that were decoded.
    pub(super) found: u64,
    decoder: Decoder,
    /// Decoded samples that are still to be left out, and those of the recording after them.
    skip: u64,
    left: u64,
    /// Rate and channels, where they are known before the first packet.
    pub(super) rate: Option<u32>,
    pub(super) channels: usize,
}

enum Decoder {
    Symphonia(Box<dyn AudioDecoder>),
    /// Whether packets know in samples what is to be left out at their end.
    Opus {
        decoder: Box<Opus>,
        trims: bool,
    },
}

impl Link {
    /// The decoder for a track; `part` is the recording in it, where the container says.
    pub(super) fn new(track: &Track, part: Option<Part>) -> Result<Self, String> {
        let parameters = track.codec_params.as_ref();
        let parameters = parameters
            .and_then(|parameters| parameters.audio())
            .ok_or("the audio track does not say how it is coded")?;
        let mut link = Self {
            track: track.id,
            declared: track.num_frames,
            found: 0,
            skip: part.map_or(0, |part| part.skip),
            left: part.and_then(|part| part.frames).unwrap_or(u64::MAX),
            rate: parameters.sample_rate,
            channels: parameters
                .channels
                .as_ref()
                .map_or(1, |all| all.count().max(1)),
            decoder: if parameters.codec == CODEC_ID_OPUS {
                let head = parameters.extra_data.as_deref().unwrap_or_default();
                let units = track
                    .time_base
                    .map(|base| (base.numer.get(), base.denom.get()));
                Decoder::Opus {
                    decoder: Box::new(Opus::new(head)?),
                    trims: units.is_none_or(|units| units == (1, opus::RATE)),
                }
            } else {
                let decoder = symphonia::default::get_codecs()
                    .make_audio_decoder(parameters, &AudioDecoderOptions::default())
                    .map_err(|error| format!("{NO_DECODER} ({error})"))?;
                Decoder::Symphonia(decoder)
            },
        };
        if let Decoder::Opus { decoder, .. } = &link.decoder {
            link.skip = decoder.skip;
            link.rate = Some(opus::RATE);
            link.channels = decoder.channels;
        }
        Ok(link)
    }

    /// Decodes a packet to a signal of each channel, without what is not part of the recording, and says
    /// their rate.
    pub(super) fn decode(&mut self, packet: &Packet, to: &mut Vec<Vec<f32>>) -> Result<u32, Error> {
        let (rate, trim) = match &mut self.decoder {
            Decoder::Symphonia(decoder) => {
                let decoded = decoder.decode(packet)?;
                decoded.copy_to_vecs_planar(to);
                (decoded.spec().rate(), 0)
            }
            Decoder::Opus { decoder, trims } => {
                to.resize(decoder.channels, Vec::new());
                let decoded = decoder.decode(&packet.data, to);
                decoded.map_err(|_| Error::DecodeError("a packet of Opus is damaged"))?;
                let trim = if *trims { packet.trim_end.get() } else { 0 };
                (opus::RATE, trim)
            }
        };
        let frames = to.first().map_or(0, Vec::len) as u64;
        self.found += frames;
        let skip = self.skip.min(frames);
        let end = frames.saturating_sub(trim).max(skip);
        let kept = (end - skip).min(self.left);
        self.skip -= skip;
        if self.left != u64::MAX {
            self.left -= kept;
        }
        if kept < frames {
            for channel in to {
                channel.truncate((skip + kept) as usize);
                channel.drain(..skip as usize);
            }
        }
        Ok(rate)
    }
}
