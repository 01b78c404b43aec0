use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::oneshot;

use super::server::{Simulator, serve};
use super::{
    Armed, Fault, Logged, Operation, Reply, Request, SimConfig, SimError, State, Vendor, World,
};

/// A simulated vendor that answers at an address. Dropped, it and its boxes are gone.
pub struct Cloud {
    url: String,
    key: String,
    simulator: Arc<Simulator>,
    /// Dropped to end the server.
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Cloud {
    /// Puts up a vendor. The server has a thread of its own: call this from anywhere.
    ///
    /// # Errors
    /// [`SimError`]: the port is taken, or the boxes' kind can't run here.
    pub fn start(vendor: Box<dyn Vendor>, config: SimConfig) -> Result<Self, SimError> {
        let port = config.port;
        let listen = |source| SimError::Listen { port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let url = format!("http://{}", listener.local_addr().map_err(listen)?);
        let boxes = config.boxes.open(vendor.ssh_port())?;
        let key = config.key.clone();
        let clock = super::Clock::new(config.clock);
        let stock = config
            .stock
            .clone()
            .unwrap_or_else(|| vendor.stock(clock.now()));
        let world = World::new(config, stock, boxes);
        let simulator = Arc::new(Simulator::new(world, vendor, url.clone()));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(SimError::Runtime)?;
        let served = Arc::clone(&simulator);
        let (end, ended) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("simulated-cloud".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                        return;
                    };
                    tokio::select! {
                        () = serve(listener, served) => {}
                        _ = ended => {}
                    }
                });
            })
            .map_err(SimError::Runtime)?;
        Ok(Self {
            url,
            key,
            simulator,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The account's key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The simulator's time.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.simulator.world().now()
    }

    /// Lets time pass at once.
    pub fn advance(&self, by: Duration) {
        self.simulator.world().advance(by);
    }

    /// Arms a fault for the requests to come.
    pub fn arm(&self, armed: impl Into<Armed>) {
        self.simulator.world().faults.arm(armed.into());
    }

    /// Disarms all.
    pub fn disarm(&self) {
        self.simulator.world().faults.clear();
    }

    /// Lets something happen now, to one box or all.
    pub fn strike(&self, fault: &Fault, target: Option<&str>) {
        self.simulator.world().strike(fault, target);
    }

    /// Boxes, bill, balance.
    #[must_use]
    pub fn state(&self) -> State {
        let mut world = self.simulator.world();
        world.settle();
        State::of(&world)
    }

    /// Every request so far, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<Logged> {
        self.simulator.world().log.clone()
    }

    /// How many requests of an operation came.
    #[must_use]
    pub fn count(&self, operation: Operation) -> usize {
        let world = self.simulator.world();
        world
            .log
            .iter()
            .filter(|logged| logged.operation == operation)
            .count()
    }

    /// Asks as a client would, without the network, with the account's key; `None`: the connection would be cut.
    #[must_use]
    pub fn ask(&self, method: &str, path: &str, body: &serde_json::Value) -> Option<Reply> {
        self.ask_with(&self.key, method, path, body)
    }

    /// The same with another key.
    #[must_use]
    pub fn ask_with(
        &self,
        key: &str,
        method: &str,
        path: &str,
        body: &serde_json::Value,
    ) -> Option<Reply> {
        let headers = vec![("authorization".to_owned(), format!("Bearer {key}"))];
        let request = Request::new(method, path, headers, body.to_string());
        self.simulator.handle(&request).1
    }

    /// The world itself, for what the methods above don't say. Requests wait meanwhile.
    pub fn with<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        act(&mut self.simulator.world())
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server was a failed request, which the test has seen.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Cloud {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Cloud")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}
