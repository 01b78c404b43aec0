//! SIGTERM and SIGINT end a training after the step in hand.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Who asked for the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// SIGTERM.
    Terminated,
    /// SIGINT.
    Interrupted,
}

impl Stop {
    /// `error.type` in status.json; for SIGINT it is Python's.
    pub fn name(self) -> &'static str {
        match self {
            Stop::Terminated => "Terminated",
            Stop::Interrupted => "KeyboardInterrupt",
        }
    }
}

/// What has come in so far.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    terminated: Arc<AtomicBool>,
    interrupted: Arc<AtomicBool>,
}

impl Signals {
    /// Takes both signals over for this process. The second of a kind ends it at once. One that whoever
    /// started the process has set to be ignored, as shells do for background jobs, stays ignored.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub fn install() -> io::Result<Signals> {
        let signals = Signals::default();
        for (signal, flag) in [
            (SIGTERM, &signals.terminated),
            (SIGINT, &signals.interrupted),
        ] {
            if is_ignored(signal) {
                continue;
            }
            flag::register_conditional_default(signal, Arc::clone(flag))?;
            flag::register(signal, Arc::clone(flag))?;
        }
        Ok(signals)
    }

    /// Whether to stop.
    pub fn stop(&self) -> Option<Stop> {
        if self.terminated.load(Ordering::Relaxed) {
            Some(Stop::Terminated)
        } else if self.interrupted.load(Ordering::Relaxed) {
            Some(Stop::Interrupted)
        } else {
            None
        }
    }

    /// As if the signal had come.
    pub fn request(&self, stop: Stop) {
        match stop {
            Stop::Terminated => self.terminated.store(true, Ordering::Relaxed),
            Stop::Interrupted => self.interrupted.store(true, Ordering::Relaxed),
        }
    }
}

/// Whether the process was started with this signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_is_read() {
        // Rust's start-up ignores SIGPIPE and nothing else.
        assert!(is_ignored(signal_hook::consts::SIGPIPE));
        assert!(!is_ignored(signal_hook::consts::SIGUSR1));
    }

    #[test]
    fn a_request_is_a_stop() {
        let signals = Signals::default();
        assert_eq!(signals.stop(), None);
        signals.request(Stop::Interrupted);
        assert_eq!(signals.stop(), Some(Stop::Interrupted));
        signals.request(Stop::Terminated);
        assert_eq!(signals.stop(), Some(Stop::Terminated));
    }
}
