//! Reading what a command says while it runs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;

/// A program that leaves a child behind with its output open is not waited for longer than this.
const DRAIN: Duration = Duration::from_secs(2);

/// A pipe that is being read.
pub(super) struct Pipe {
    reading: JoinHandle<()>,
    kept: Arc<Mutex<Vec<u8>>>,
}

impl Pipe {
    pub(super) fn read(pipe: Option<impl AsyncRead + Send + Unpin + 'static>) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&kept);
        let reading = tokio::spawn(async move {
            let Some(mut pipe) = pipe else { return };
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(bytes @ 1..) = pipe.read(&mut buffer).await {
                if let Ok(mut kept) = into.lock() {
                    kept.extend_from_slice(&buffer[..bytes]);
                }
            }
        });
        Self { reading, kept }
    }

    /// All that was said, once everybody who could say more has gone, or after a short wait.
    pub(super) async fn drained(mut self) -> Vec<u8> {
        if tokio::time::timeout(DRAIN, &mut self.reading)
            .await
            .is_err()
        {
            self.reading.abort();
        }
        self.kept
            .lock()
            .map(|mut kept| std::mem::take(&mut *kept))
            .unwrap_or_default()
    }
}
