//! Ends processes: TERM first, KILL later.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{sleep, timeout};

const PAUSE: Duration = Duration::from_millis(5);

/// Sends TERM, waits until everything is `gone`, and sends KILL if that takes longer than `grace`. Returns whether it
/// sent KILL.
///
/// `signal` is a function and not a group, because the groups in the background are behind a lock, and there may be
/// several.
pub async fn end(signal: impl Fn(Signal), grace: Duration, gone: impl Future<Output = ()>) -> bool {
    signal(Signal::TERM);
    let late = timeout(grace, gone).await.is_err();
    if late {
        signal(Signal::KILL);
    }
    late
}

/// Waits while something exists whose end is not reported.
pub async fn wait_while(is_there: impl Fn() -> bool) {
    while is_there() {
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::{pending, ready};

    use tokio::time::Instant;

    use super::*;

    const GRACE: Duration = Duration::from_secs(2);

    #[tokio::test(start_paused = true)]
    async fn a_process_that_ends_after_term_is_not_killed() {
        let sent = RefCell::new(Vec::new());
        let killed = end(|signal| sent.borrow_mut().push(signal), GRACE, ready(())).await;
        assert!(!killed);
        assert_eq!(*sent.borrow(), [Signal::TERM]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_stays_is_killed_after_the_grace_period() {
        let (sent, begun) = (RefCell::new(Vec::new()), Instant::now());
        let killed = end(|signal| sent.borrow_mut().push(signal), GRACE, pending()).await;
        assert!(killed);
        assert_eq!(*sent.borrow(), [Signal::TERM, Signal::KILL]);
        assert!(begun.elapsed() >= GRACE, "{:?}", begun.elapsed());
    }
}
