//! Replaying a recording as if it were happening: the same events, at the speed that is requested,
//! moved to the present; and moving about in it.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::board::LiveBoard;
use crate::event::{Event, Happening};
use crate::recording::{Recording, RecordingError};
use crate::{Clock, Micros};

/// Plays a recording into a queue from a thread of its own.
pub struct Player;

impl Player {
    /// Begins `skip` after the recording's start, `speed` times as fast as it was recorded. What
    /// was known at that point (processes, the slow tiers) is brought up by playing the last
    /// half minute before it at once. The queue closes at the end; damaged blocks are
    /// passed over.
    pub fn start(
        recording: &Recording,
        skip: Duration,
        speed: f64,
    ) -> Result<Receiver<Event>, RecordingError> {
        let (events, received) = channel();
        let (first, _) = recording.span().unwrap_or_default();
        let begin = first.plus(skip);
        let lead_in = Micros(begin.0.saturating_sub(30_000_000));
        let mut playing = recording.events_from(lead_in);
        // The first block is read here, so that a file that cannot be read is an error and not an empty
        // show.
        let head = playing.next().transpose()?;
        let speed = speed.clamp(1e-3, 1e6);
        thread::spawn(move || {
            let rest = head.into_iter().map(Ok).chain(playing);
            play(rest, begin, speed, &events);
        });
        Ok(received)
    }
}

/// A recording with a place in it.
pub struct Replay {
    recording: Recording,
    length: Duration,
    at: Duration,
    speed: f64,
    begun: Instant,
    board: LiveBoard,
}

impl Replay {
    /// Begins `at` after the recording's start.
    pub fn start(recording: Recording, at: Duration, speed: f64) -> Result<Self, RecordingError> {
        let (first, last) = recording.span().unwrap_or_default();
        let length = last.since(first);
        let events = Player::start(&recording, at, speed)?;
        Ok(Self {
            board: LiveBoard::new(recording.inventory().clone(), events),
            recording,
            length,
            at,
            speed,
            begun: Instant::now(),
        })
    }

    /// The board at the place.
    pub fn board(&self) -> &LiveBoard {
        &self.board
    }

    /// How long the recording is.
    pub fn length(&self) -> Duration {
        self.length
    }

    /// How many times as fast as it was recorded.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// The place, after the recording's start.
    pub fn place(&self) -> Duration {
        let gone = self.begun.elapsed().as_secs_f64() * self.speed;
        let gone = Duration::try_from_secs_f64(gone).unwrap_or(self.length);
        self.at.saturating_add(gone).min(self.length)
    }

    /// The time to which the place was moved: the present, until the recording ends.
    pub(crate) fn now(&self) -> Micros {
        let left = self.length.saturating_sub(self.at).as_secs_f64() / self.speed;
        let left = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
        let over = self.begun.elapsed().saturating_sub(left).as_micros();
        let over = u64::try_from(over).unwrap_or(u64::MAX);
        Micros(Clock::System.now().0.saturating_sub(over))
    }

    /// Goes on from another place, inside of the recording, at another speed.
    pub fn go_to(&mut self, place: Duration, speed: f64) -> Result<(), RecordingError> {
        let place = place.min(self.length);
        let speed = speed.clamp(1.0 / 64.0, 4096.0);
        let events = Player::start(&self.recording, place, speed)?;
        // The old player ends when it finds nobody listening.
        self.board = LiveBoard::new(self.recording.inventory().clone(), events);
        (self.at, self.speed, self.begun) = (place, speed, Instant::now());
        Ok(())
    }
}

fn play(
    playing: impl Iterator<Item = Result<Event, RecordingError>>,
    begin: Micros,
    speed: f64,
    events: &Sender<Event>,
) {
    let started = Instant::now();
    let present = Clock::System.now();
    let moved = |at: Micros| {
        let offset = (at.0 as f64 - begin.0 as f64) / speed;
        Micros((present.0 as f64 + offset) as u64)
    };
    for event in playing.map_while(Result::ok) {
        let due = event.at.since(begin).div_f64(speed);
        if let Some(wait) = due.checked_sub(started.elapsed()) {
            thread::sleep(wait);
        }
        let mut event = event;
        event.at = moved(event.at);
        if let Happening::PowerRing(samples)
        | Happening::BusyRing(samples)
        | Happening::MemoryBusyRing(samples) = &mut event.what
        {
            samples
                .iter_mut()
                .for_each(|sample| sample.at = moved(sample.at));
        }
        if events.send(event).is_err() {
            return;
        }
    }
}
