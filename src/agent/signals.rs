//! Signals: caught in the agent, at their defaults in what it starts.

#![expect(
    unsafe_code,
    reason = "signal handlers and the step between fork and exec have no safe interface"
)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::setsid;

static ASKED_TO_END: AtomicBool = AtomicBool::new(false);

/// From now on SIGTERM, SIGINT and SIGHUP ask the agent to end, see [`asked_to_end`]. A caught signal is at
/// its default again in a started program, so a training never inherits an ignored SIGINT.
pub(crate) fn catch() -> io::Result<()> {
    let action = SigAction::new(
        SigHandler::Handler(note),
        SaFlags::SA_RESTART,
        SigSet::empty(),
    );
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        // SAFETY: the handler only stores to an atomic.
        unsafe { sigaction(signal, &action) }?;
    }
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // With SIGCHLD ignored, as some parents leave it, no exit status could be read.
    // SAFETY: the default disposition runs no code of ours.
    unsafe { sigaction(Signal::SIGCHLD, &default) }?;
    SigSet::empty().thread_set_mask()?;
    Ok(())
}

/// Whether a signal has asked since the last call.
pub(crate) fn asked_to_end() -> bool {
    ASKED_TO_END.swap(false, Ordering::Relaxed)
}

/// The command gets a session of its own, no controlling terminal, every signal at its default and none
/// blocked, whatever this process or its parents ignore.
pub(crate) fn in_own_session(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec only async-signal-safe calls are made, and nothing is allocated.
    unsafe { command.pre_exec(detach) }
}

fn detach() -> io::Result<()> {
    setsid()?;
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    for signal in Signal::iterator().filter(|s| !matches!(s, Signal::SIGKILL | Signal::SIGSTOP)) {
        // SAFETY: the default disposition runs no code of ours.
        unsafe { sigaction(signal, &default) }?;
    }
    SigSet::empty().thread_set_mask()?;
    Ok(())
}

extern "C" fn note(_signal: i32) {
    ASKED_TO_END.store(true, Ordering::Relaxed);
}
