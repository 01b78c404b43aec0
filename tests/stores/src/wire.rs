//! A piece of network in front of a server, that breaks on demand.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Passes bytes to a server, and may cut them off. Dropped, it takes no more connections.
pub struct Wire {
    address: String,
    state: Arc<State>,
}

struct State {
    /// Bytes towards the server that still pass; then every connection breaks.
    left: AtomicU64,
    passed: AtomicU64,
    is_over: AtomicBool,
}

impl Wire {
    /// Before the server at `to`, `127.0.0.1:PORT`.
    ///
    /// # Errors
    /// When there is no free port.
    pub fn to(to: &str) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?.to_string();
        let state = Arc::new(State {
            left: AtomicU64::new(u64::MAX),
            passed: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        });
        let (shared, to) = (Arc::clone(&state), to.to_owned());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let (shared, to) = (Arc::clone(&shared), to.clone());
                std::thread::spawn(move || carry(client, &to, &shared));
            }
        });
        Ok(Self { address, state })
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Lets so many more bytes pass to the server, and then nothing.
    pub fn cut_after(&self, bytes: u64) {
        self.state.left.store(bytes, Ordering::SeqCst);
    }

    /// Lets everything pass again.
    pub fn mend(&self) {
        self.state.left.store(u64::MAX, Ordering::SeqCst);
    }

    /// Bytes that went to the server so far.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.state.passed.load(Ordering::SeqCst)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        // Wakes the one that waits for connections.
        let _ = TcpStream::connect(&self.address);
    }
}

fn carry(client: TcpStream, to: &str, state: &Arc<State>) {
    let Ok(server) = TcpStream::connect(to) else {
        return;
    };
    let (Ok(from_server), Ok(to_client)) = (server.try_clone(), client.try_clone()) else {
        return;
    };
    let back = std::thread::spawn(move || {
        let (mut from, mut to) = (from_server, to_client);
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    let (mut client, mut server) = (client, server);
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        let bytes = count as u64;
        let left = state.left.load(Ordering::SeqCst);
        if left < bytes {
            break;
        }
        if left != u64::MAX {
            state.left.fetch_sub(bytes, Ordering::SeqCst);
        }
        if server.write_all(&buffer[..count]).is_err() {
            break;
        }
        state.passed.fetch_add(bytes, Ordering::SeqCst);
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = client.shutdown(Shutdown::Both);
    let _ = back.join();
}
