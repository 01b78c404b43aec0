//! A thread that speaks to the network for those who block.

use std::sync::mpsc;

use tokio::runtime::Runtime;

/// Runs futures on a thread of its own: a sink is called from everywhere, also from inside another runtime.
pub(super) struct Worker(Option<Runtime>);

impl Worker {
    pub(super) fn new() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("sink")
            .enable_all()
            .build()?;
        Ok(Self(Some(runtime)))
    }

    /// Waits for what the future comes to.
    ///
    /// # Errors
    /// When it panicked.
    pub(super) fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> std::io::Result<T> {
        let gone = || std::io::Error::other("the thread for the network is gone");
        let (told, told_us) = mpsc::sync_channel(1);
        self.0.as_ref().ok_or_else(gone)?.spawn(async move {
            // Who asked waits below.
            let _ = told.send(future.await);
        });
        told_us.recv().map_err(|_| gone())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Dropped inside another runtime, it must not wait.
            runtime.shutdown_background();
        }
    }
}
