//! From `hello` to `welcome`: a new stream, the broadcast, or a stream that goes on.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use warpsmith_core::{Finding, Severity};

use super::feed::Feed;
use crate::api;
use crate::audio::OwnStream;
use crate::error::ProtocolError;
use crate::protocol::{Codec, Hello, Resume, Welcome};
use crate::seats::Seat;
use crate::secret;
use crate::server::Shared;

/// How long a connection that is thought alive may take to give its stream up.
const HANDOVER: Duration = Duration::from_secs(2);

/// A listener that has been welcomed.
pub(super) struct Greeted {
    pub(super) seat: Arc<Seat>,
    pub(super) feed: Feed,
    pub(super) welcome: Welcome,
    pub(super) place: OwnedSemaphorePermit,
}

/// Gives the listener what it asks for, or says why not.
pub(super) async fn greet(
    hello: &Hello,
    peer: SocketAddr,
    shared: &Shared,
) -> Result<Greeted, Finding> {
    let Ok(place) = Arc::clone(&shared.listeners).try_acquire_owned() else {
        shared.metrics.refused.add(1);
        return Err(
            Finding::new("W009", Severity::Error, "there are too many listeners")
                .hint("try again in a while"),
        );
    };
    if let Some(resume) = &hello.resume {
        let own = resumed(hello, resume, shared)
            .await
            .map_err(|error| error.finding())?;
        shared.metrics.resumed.add(1);
        return Ok(seated(
            resume.stream,
            resume.key.clone(),
            true,
            own,
            peer,
            place,
            shared,
        ));
    }
    if hello.shared {
        return joined(hello, peer, place, shared).map_err(|error| error.finding());
    }
    let params = api::wanted(
        shared,
        &shared.params,
        hello.preset.as_deref(),
        &hello.params,
    )
    .map_err(|error| error.finding())?;
    let seed = hello.seed.unwrap_or_else(secret::seed);
    let own = OwnStream::new(hello, seed, params)
        .map_err(|error| error.finding())?
        .rendered_at(shared.desk.as_ref());
    let stream = shared.seats.next_stream();
    Ok(seated(
        stream,
        secret::key(),
        false,
        Box::new(own),
        peer,
        place,
        shared,
    ))
}

fn seated(
    stream: u32,
    key: String,
    resumed: bool,
    own: Box<OwnStream>,
    peer: SocketAddr,
    place: OwnedSemaphorePermit,
    shared: &Shared,
) -> Greeted {
    let welcome = Welcome {
        stream,
        key,
        codec: own.codec().name().to_owned(),
        rate: own.rate(),
        frame: own.frame(),
        target: own.target(),
        device: shared.device().to_owned(),
        seed: own.seed(),
        position: own.sent(),
        resumed,
        shared: false,
        params: *own.params(),
    };
    Greeted {
        seat: seat(&welcome, own.codec(), peer, shared),
        feed: Feed::own(own),
        welcome,
        place,
    }
}

fn joined(
    hello: &Hello,
    peer: SocketAddr,
    place: OwnedSemaphorePermit,
    shared: &Shared,
) -> Result<Greeted, ProtocolError> {
    if !hello.codecs.iter().any(|name| name == Codec::Pcm16.name()) {
        return Err(ProtocolError::NoCodec);
    }
    let broadcast = &shared.broadcast;
    let rate = crate::audio::BROADCAST_RATE;
    let target = u64::from(hello.prebuffer_ms) * u64::from(rate) / 1000;
    let (before, receiver) = broadcast.join(target);
    let welcome = Welcome {
        stream: shared.seats.next_stream(),
        key: secret::key(),
        codec: Codec::Pcm16.name().to_owned(),
        rate,
        frame: crate::audio::BROADCAST_BLOCK,
        target,
        device: shared.device.clone(),
        seed: broadcast.seed(),
        position: before
            .first()
            .map_or(broadcast.position(), |block| block.first),
        resumed: false,
        shared: true,
        params: broadcast.params(),
    };
    Ok(Greeted {
        seat: seat(&welcome, Codec::Pcm16, peer, shared),
        feed: Feed::shared(before, receiver, hello.score),
        welcome,
        place,
    })
}

fn seat(welcome: &Welcome, codec: Codec, peer: SocketAddr, shared: &Shared) -> Arc<Seat> {
    let seat = Arc::new(Seat::new(welcome, codec, peer));
    shared.seats.take(Arc::clone(&seat));
    shared.metrics.streams.add(1);
    seat
}

/// The stream that the listener had, where it was.
async fn resumed(
    hello: &Hello,
    resume: &Resume,
    shared: &Shared,
) -> Result<Box<OwnStream>, ProtocolError> {
    let gone = |why| ProtocolError::Gone {
        stream: resume.stream,
        next_sample: resume.next_sample,
        why,
    };
    let mut parked = shared.parking.take(resume.stream, &resume.key);
    // The break may be known to the listener before it is known here.
    if let (None, Some(seat)) = (&parked, shared.seats.find(resume.stream, &resume.key)) {
        seat.evict();
        let deadline = tokio::time::Instant::now() + HANDOVER;
        while parked.is_none() && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(2)).await;
            parked = shared.parking.take(resume.stream, &resume.key);
        }
    }
    let mut own = parked.ok_or_else(|| gone("it is not kept (any more)"))?;
    match own.rewind(resume.next_sample, hello) {
        Ok(()) => Ok(own),
        Err(why) => {
            // Another attempt may fit.
            shared.parking.keep(resume.stream, resume.key.clone(), own);
            Err(gone(why))
        }
    }
}
