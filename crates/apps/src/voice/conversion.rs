//! How `voice convert` changes a sound: channel, rate, silence at the ends, room, level, in this order and piece by
//! piece. What depends on the whole, where it is loud and how loud it is, first looks find.

use std::ops::Range;

use anyhow::Result;
use warpsmith_voice::signal::{
    GainMeter, LevelTarget, ResampleStream, Resampler, Reverb, ReverbSettings, TrimLook,
    TrimSettings, amplify,
};
use warpsmith_voice::{Audio, ChannelChoice};

use super::sound::{Change, Whole};

/// What is wanted.
#[derive(Clone)]
pub(super) struct Wanted {
    /// One channel instead of all.
    pub(super) channel: Option<ChannelChoice>,
    pub(super) resampler: Option<Resampler>,
    /// Samples per second in the end.
    pub(super) rate: u32,
    pub(super) trim: Option<TrimSettings>,
    pub(super) room: Option<ReverbSettings>,
    pub(super) level: Option<LevelTarget>,
}

/// A sound on its way.
pub(super) struct Conversion {
    wanted: Wanted,
    channels: usize,
    /// Samples to a channel before the change.
    samples: usize,
    /// One to a channel, where the rate is another.
    streams: Vec<ResampleStream>,
    /// What is kept of the sound at its new rate, and the samples before the next.
    kept: Option<Range<usize>>,
    heard: usize,
    /// One to a channel, where there is a room.
    rooms: Vec<Reverb>,
    gain_db: Option<f64>,
}

impl Conversion {
    /// Prepares for a sound.
    pub(super) fn new(wanted: &Wanted, whole: &Whole<'_>) -> Result<Self> {
        let again = whole.again;
        let kept = match wanted.trim {
            None => None,
            Some(settings) => {
                let mut look = TrimLook::new(settings)?;
                let mut found = Self::begin(wanted, whole, None)?;
                let mut hear = |sound: Audio| -> Result<()> {
                    // All channels are cut at the same places: where their mean is loud.
                    look.hear(&sound.signal(ChannelChoice::Mix)?);
                    Ok(())
                };
                again(&mut |piece| hear(found.resampled(piece)?))?;
                hear(found.resampled_rest())?;
                Some(look.finish())
            }
        };
        let gain_db = match wanted.level {
            None => None,
            Some(target) => {
                let mut found = Self::begin(wanted, whole, kept.clone())?;
                let mut meter = GainMeter::new(target, wanted.rate, found.channels);
                let mut hear = |sound: &Audio| {
                    let channels: Vec<&[f32]> = sound.channels.iter().map(|c| &c[..]).collect();
                    meter.push(&channels);
                };
                again(&mut |piece| {
                    hear(&found.next(piece)?);
                    Ok(())
                })?;
                hear(&found.rest()?);
                Some(meter.finish()?)
            }
        };
        Ok(Self {
            gain_db,
            ..Self::begin(wanted, whole, kept)?
        })
    }

    /// At the start of the sound, at its own level.
    fn begin(wanted: &Wanted, whole: &Whole<'_>, kept: Option<Range<usize>>) -> Result<Self> {
        let channels = match wanted.channel {
            Some(_) => 1,
            None => whole.channels,
        };
        let mut conversion = Self {
            wanted: wanted.clone(),
            channels,
            samples: whole.samples,
            streams: Vec::new(),
            kept,
            heard: 0,
            rooms: Vec::new(),
            gain_db: None,
        };
        for _ in 0..channels {
            if let Some(resampler) = &wanted.resampler {
                let stream = ResampleStream::new(resampler.clone());
                conversion.streams.push(stream);
            }
            if let Some(room) = wanted.room {
                conversion.rooms.push(Reverb::new(wanted.rate, room)?);
            }
        }
        Ok(conversion)
    }

    /// Samples that ring on in the room after the sound.
    fn tail(&self) -> usize {
        self.rooms.first().map_or(0, Reverb::tail)
    }

    /// What becomes of the next piece, at the sound's own level until the gain is known.
    fn next(&mut self, piece: &Audio) -> Result<Audio> {
        let mut sound = self.resampled(piece)?;
        self.cut(&mut sound);
        Ok(self.in_room(sound))
    }

    fn rest(&mut self) -> Result<Audio> {
        let mut sound = self.resampled_rest();
        self.cut(&mut sound);
        let tail = self.tail();
        for channel in &mut sound.channels {
            channel.resize(channel.len() + tail, 0.0);
        }
        Ok(self.in_room(sound))
    }

    /// The channels that are wanted, at the rate that is wanted.
    fn resampled(&mut self, piece: &Audio) -> Result<Audio> {
        let mut channels = match self.wanted.channel {
            Some(choice) => vec![piece.signal(choice)?],
            None => piece.channels.clone(),
        };
        for (channel, stream) in channels.iter_mut().zip(&mut self.streams) {
            let mut resampled = Vec::new();
            stream.process(channel, &mut resampled);
            *channel = resampled;
        }
        Ok(Audio {
            sample_rate: self.wanted.rate,
            channels,
        })
    }

    fn resampled_rest(&mut self) -> Audio {
        let streams = std::mem::take(&mut self.streams);
        let rest = |stream: ResampleStream| {
            let mut rest = Vec::new();
            stream.finish(&mut rest);
            rest
        };
        let mut channels: Vec<Vec<f32>> = streams.into_iter().map(rest).collect();
        channels.resize(self.channels, Vec::new());
        Audio {
            sample_rate: self.wanted.rate,
            channels,
        }
    }

    /// Without what lies before and after the part that is kept.
    fn cut(&mut self, sound: &mut Audio) {
        let samples = sound.frames();
        if let Some(kept) = &self.kept {
            let here = |at: usize| at.saturating_sub(self.heard).min(samples);
            for channel in &mut sound.channels {
                channel.truncate(here(kept.end));
                channel.drain(..here(kept.start).min(channel.len()));
            }
        }
        self.heard += samples;
    }

    fn in_room(&mut self, mut sound: Audio) -> Audio {
        for (channel, room) in sound.channels.iter_mut().zip(&mut self.rooms) {
            room.process(channel);
        }
        if let Some(gain_db) = self.gain_db {
            amplify(&mut sound, gain_db);
        }
        sound
    }
}

impl Change for Conversion {
    fn length(&self) -> usize {
        let resampled = match &self.wanted.resampler {
            Some(resampler) => resampler.output_length(self.samples),
            None => self.samples,
        };
        let kept = self.kept.as_ref().map_or(resampled, Range::len);
        kept + self.tail()
    }

    fn piece(&mut self, piece: &Audio) -> Result<Audio> {
        self.next(piece)
    }

    fn finish(mut self: Box<Self>) -> Result<Audio> {
        self.rest()
    }
}
