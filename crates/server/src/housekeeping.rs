//! What is done now and then: streams whose listeners did not come back go, and the memory of a crowd that
//! left goes back to the system.

use std::sync::Arc;
use std::time::Duration;

use crate::process;
use crate::server::Shared;

/// From one time to the next.
const PERIOD: Duration = Duration::from_secs(5);
/// Listeners whose memory is not worth the trouble.
const FEW: usize = 16;

/// Whether memory goes back now: half of the most streams since the last time have gone.
fn is_worth_it(most: usize, now: usize) -> bool {
    most - now >= FEW && 2 * now <= most
}

/// Goes on until the task is dropped.
pub(crate) async fn keep_house(shared: Arc<Shared>) {
    let mut most = 0;
    loop {
        tokio::time::sleep(PERIOD).await;
        let (wav, renders) = (&shared.wav_listeners, &shared.wav_renders);
        let now = shared.seats.count() + shared.parking.sweep() + wav.count() + renders.count();
        let crowd = shared.seats.most_since() + wav.most_since() + renders.most_since();
        most = most.max(now).max(crowd);
        if is_worth_it(most, now) {
            most = now;
            // It may take milliseconds, in which no listener may wait.
            let _ = tokio::task::spawn_blocking(process::give_memory_back).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_goes_back_when_a_crowd_left_and_not_for_a_few() {
        assert!(is_worth_it(1_000, 0) && is_worth_it(1_000, 256) && is_worth_it(16, 0));
        assert!(!is_worth_it(1_000, 600) && !is_worth_it(15, 0) && !is_worth_it(0, 0));
    }
}
