//! The life of a server: when it is connected, listed, restarted and given up.
//!
//! Pure: facts go in, requests come out. [`slot`](super::slot) does the waiting.

use std::time::Duration;

/// How often a server is restarted that does not stay.
const MOST_ATTEMPTS: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// A connection that lasted this long was a good one, so its end counts as the first.
const GOOD: Duration = Duration::from_secs(60);

/// What has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    Begun,
    Connected,
    /// It takes longer than it should.
    Late,
    /// It could not be connected or listed.
    Failed,
    NeedsLogin,
    Listed,
    /// The connection ended after this time.
    Lost(Duration),
    /// The server says that its lists have changed.
    Changed,
    TimeToTry,
    /// A call needs it.
    Wanted,
    Restarted,
    SwitchedOn,
    SwitchedOff,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Connect,
    List,
    Close,
    /// Say [`Fact::TimeToTry`] after this time.
    Wait(Duration),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Off,
    Connecting,
    /// Still connecting, after it should have been ready.
    Overdue,
    Listing,
    Ready,
    /// It was ready, and its lists are read again.
    Relisting,
    /// The next attempt comes by itself.
    Waiting,
    Failed,
    NeedsLogin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lifecycle {
    phase: Phase,
    /// Failures since it was last good.
    attempts: u32,
    /// Whether it is tried again without anybody asking for it: it worked before, or it is only an address.
    persists: bool,
    /// It changed again while its lists were read.
    changed_again: bool,
}

impl Lifecycle {
    /// `persists` if even a first failure is worth another attempt.
    pub fn new(persists: bool) -> Self {
        Self {
            phase: Phase::Off,
            attempts: 0,
            persists,
            changed_again: false,
        }
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }

    pub fn handle(&mut self, fact: Fact) -> Vec<Next> {
        match (self.phase, fact) {
            (_, Fact::SwitchedOff) => self.turn(Phase::Off, vec![Next::Close]),
            (_, Fact::Restarted) => {
                self.attempts = 0;
                self.turn(Phase::Connecting, vec![Next::Close, Next::Connect])
            }
            (Phase::Off, Fact::Begun | Fact::SwitchedOn) => {
                self.attempts = 0;
                self.turn(Phase::Connecting, vec![Next::Connect])
            }
            (Phase::Off, _) => Vec::new(),
            (Phase::Connecting | Phase::Overdue, Fact::Connected) => {
                self.turn(Phase::Listing, vec![Next::List])
            }
            (Phase::Connecting, Fact::Late) => self.turn(Phase::Overdue, Vec::new()),
            (Phase::Listing | Phase::Relisting, Fact::Listed) => {
                self.persists = true;
                if std::mem::take(&mut self.changed_again) {
                    return self.turn(Phase::Relisting, vec![Next::List]);
                }
                self.turn(Phase::Ready, Vec::new())
            }
            (Phase::Ready, Fact::Changed) => self.turn(Phase::Relisting, vec![Next::List]),
            (Phase::Listing | Phase::Relisting, Fact::Changed) => {
                self.changed_again = true;
                Vec::new()
            }
            (_, Fact::NeedsLogin) => self.turn(Phase::NeedsLogin, vec![Next::Close]),
            (
                Phase::Connecting
                | Phase::Overdue
                | Phase::Listing
                | Phase::Relisting
                | Phase::Ready,
                Fact::Failed,
            ) => self.failed(),
            (Phase::Listing | Phase::Relisting | Phase::Ready, Fact::Lost(after)) => {
                if after >= GOOD {
                    self.attempts = 0;
                }
                self.failed()
            }
            (Phase::Waiting, Fact::TimeToTry) | (Phase::Waiting | Phase::Failed, Fact::Wanted) => {
                self.turn(Phase::Connecting, vec![Next::Connect])
            }
            // It is late, or concerns a connection that is gone.
            (_, _) => Vec::new(),
        }
    }

    fn failed(&mut self) -> Vec<Next> {
        self.attempts += 1;
        if !self.persists || self.attempts > MOST_ATTEMPTS {
            return self.turn(Phase::Failed, vec![Next::Close]);
        }
        let wait = FIRST_WAIT * 2_u32.pow(self.attempts - 1);
        let wait = wait.min(LONGEST_WAIT);
        self.turn(Phase::Waiting, vec![Next::Close, Next::Wait(wait)])
    }

    fn turn(&mut self, phase: Phase, nexts: Vec<Next>) -> Vec<Next> {
        self.phase = phase;
        if phase != Phase::Relisting {
            self.changed_again = false;
        }
        nexts
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ready() -> Lifecycle {
        let mut lifecycle = Lifecycle::new(false);
        for fact in [Fact::Begun, Fact::Connected, Fact::Listed] {
            lifecycle.handle(fact);
        }
        assert_eq!(lifecycle.phase(), Phase::Ready);
        lifecycle
    }

    #[test]
    fn a_server_that_never_worked_is_not_started_again_by_itself() {
        let mut lifecycle = Lifecycle::new(false);
        assert_eq!(lifecycle.handle(Fact::Begun), [Next::Connect]);
        assert_eq!(lifecycle.handle(Fact::Failed), [Next::Close]);
        assert_eq!(lifecycle.phase(), Phase::Failed);
        assert_eq!(lifecycle.handle(Fact::Wanted), [Next::Connect]);
    }

    #[test]
    fn a_server_that_exits_again_and_again_is_given_up() {
        let mut lifecycle = ready();
        let mut waits = Vec::new();
        for _ in 0..MOST_ATTEMPTS {
            let nexts = lifecycle.handle(Fact::Lost(Duration::ZERO));
            waits.extend(nexts.iter().filter_map(|next| match next {
                Next::Wait(wait) => Some(wait.as_secs()),
                Next::Connect | Next::List | Next::Close => None,
            }));
            for fact in [Fact::TimeToTry, Fact::Connected, Fact::Listed] {
                lifecycle.handle(fact);
            }
        }
        assert_eq!(waits, [1, 2, 4, 8, 16]);
        assert_eq!(lifecycle.handle(Fact::Lost(Duration::ZERO)), [Next::Close]);
        assert_eq!(lifecycle.phase(), Phase::Failed);
    }

    #[test]
    fn changes_during_a_listing_lead_to_one_more() {
        let mut lifecycle = ready();
        assert_eq!(lifecycle.handle(Fact::Changed), [Next::List]);
        for _ in 0..1_000 {
            assert_eq!(lifecycle.handle(Fact::Changed), []);
        }
        assert_eq!(lifecycle.handle(Fact::Listed), [Next::List]);
        assert_eq!(lifecycle.handle(Fact::Listed), []);
        assert_eq!(lifecycle.phase(), Phase::Ready);
    }

    #[test]
    fn a_server_that_answers_late_is_used_all_the_same() {
        let mut lifecycle = Lifecycle::new(false);
        for fact in [Fact::Begun, Fact::Late] {
            lifecycle.handle(fact);
        }
        assert_eq!(lifecycle.phase(), Phase::Overdue);
        assert_eq!(lifecycle.handle(Fact::Connected), [Next::List]);
    }

    fn any_fact() -> impl Strategy<Value = Fact> {
        prop_oneof![
            Just(Fact::Begun),
            Just(Fact::Connected),
            Just(Fact::Late),
            Just(Fact::Failed),
            Just(Fact::NeedsLogin),
            Just(Fact::Listed),
            Just(Fact::Lost(Duration::ZERO)),
            Just(Fact::Changed),
            Just(Fact::TimeToTry),
            Just(Fact::Wanted),
            Just(Fact::SwitchedOff),
        ]
    }

    proptest! {
        #[test]
        fn a_server_that_is_off_stays_off(facts in prop::collection::vec(any_fact(), 0..40)) {
            let mut lifecycle = ready();
            lifecycle.handle(Fact::SwitchedOff);
            for fact in facts.into_iter().filter(|fact| *fact != Fact::Begun) {
                let nexts = lifecycle.handle(fact);
                prop_assert!(!nexts.contains(&Next::Connect), "{:?}", nexts);
                prop_assert_eq!(lifecycle.phase(), Phase::Off);
            }
        }
    }
}
