use std::io;

/// Why a simulator or one of its boxes couldn't be put up.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The port is taken or the loopback address is missing.
    #[error("can't listen on 127.0.0.1:{port}: {source}; choose another port")]
    Listen {
        /// The port asked for; 0 lets the system choose.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// The server's thread or runtime didn't start.
    #[error("can't start the simulator's server: {0}")]
    Runtime(#[source] io::Error),
    /// A box's folder, process or program.
    #[error("box {id}: {what}: {source}")]
    Box {
        /// The box.
        id: String,
        /// What was being done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A kind of box that this machine can't run.
    #[error("{what}: {remedy}")]
    Missing {
        /// What is missing.
        what: String,
        /// What to do about it.
        remedy: String,
    },
}
