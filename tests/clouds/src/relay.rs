//! Stands between a client and its vendor, and keeps every byte that the client sent.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::{Cloud, SimError};

/// What a relay does with a request.
#[derive(Debug, Clone, Copy)]
enum Manner {
    /// The simulator at this address answers.
    To(SocketAddr),
    /// It answers by itself: this status, and in all places where a vendor says why, the request.
    Repeats(u16),
}

#[derive(Debug, Default)]
struct Shared {
    heard: Mutex<Vec<Vec<u8>>>,
    is_over: AtomicBool,
}

/// An address of its own that a client takes for the vendor's.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Relay {
    /// In front of a simulator.
    ///
    /// # Errors
    /// [`SimError::Listen`].
    pub fn to(cloud: &Cloud) -> Result<Self, SimError> {
        let address = cloud.url().trim_start_matches("http://").parse();
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
        Self::start(Manner::To(address.map_err(invalid).map_err(listen)?))
    }

    /// A vendor that answers everything with this status, and repeats what it was sent, credentials included.
    ///
    /// # Errors
    /// [`SimError::Listen`].
    pub fn repeating(status: u16) -> Result<Self, SimError> {
        Self::start(Manner::Repeats(status))
    }

    fn start(manner: Manner) -> Result<Self, SimError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let shared = Arc::<Shared>::default();
        let theirs = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                if theirs.is_over.load(Ordering::Relaxed) {
                    return;
                }
                let theirs = Arc::clone(&theirs);
                // A connection that breaks is the client's to notice.
                thread::spawn(move || client.and_then(|client| serve(client, manner, &theirs)));
            }
        });
        Ok(Self { address, shared })
    }

    /// What to give the client as the vendor's address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All that was sent here, one text for each connection.
    #[must_use]
    pub fn heard(&self) -> Vec<String> {
        let heard = self.shared.heard.lock();
        let heard = heard.unwrap_or_else(PoisonError::into_inner);
        heard
            .iter()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .collect()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // Wakes the listener, which looks before it serves.
        let _ = TcpStream::connect(self.address);
    }
}

fn listen(source: io::Error) -> SimError {
    SimError::Listen { port: 0, source }
}

fn serve(client: TcpStream, manner: Manner, shared: &Shared) -> io::Result<()> {
    let connection = {
        let mut heard = shared.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.push(Vec::new());
        heard.len() - 1
    };
    let keep = |bytes: &[u8]| {
        let mut heard = shared.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard[connection].extend_from_slice(bytes);
    };
    match manner {
        Manner::To(vendor) => pass_on(client, TcpStream::connect(vendor)?, keep),
        Manner::Repeats(status) => repeat(client, status, keep),
    }
}

/// Before it is passed on, so that whoever has an answer finds its request kept.
fn pass_on(mut client: TcpStream, mut vendor: TcpStream, keep: impl Fn(&[u8])) -> io::Result<()> {
    let (mut answers, mut back) = (vendor.try_clone()?, client.try_clone()?);
    let answering = thread::spawn(move || {
        let passed = io::copy(&mut answers, &mut back);
        // Cut off by the vendor is cut off here.
        let _ = back.shutdown(Shutdown::Both);
        passed
    });
    let mut buffer = [0; 4096];
    loop {
        let read = client.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        keep(&buffer[..read]);
        vendor.write_all(&buffer[..read])?;
    }
    vendor.shutdown(Shutdown::Write)?;
    let _ = answering.join();
    Ok(())
}

fn repeat(mut client: TcpStream, status: u16, keep: impl Fn(&[u8])) -> io::Result<()> {
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    while !is_whole(&request) {
        let read = client.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        request.extend_from_slice(&buffer[..read]);
    }
    keep(&request);
    let said = String::from_utf8_lossy(&request).into_owned();
    let body = serde_json::json!({
        "success": false, "msg": said, "message": said, "detail": said, "title": said,
        "error": {"code": "unheard-of", "message": said, "suggestion": said},
        "errors": [{"message": said}], "field_errors": {"name": {"code": said, "message": said}},
    })
    .to_string();
    let credentials = said.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("authorization").then_some(value)
    });
    let credentials = credentials.unwrap_or_default();
    write!(
        client,
        "HTTP/1.1 {status} {credentials}\r\nlocation: /{}\r\nx-request-id: {credentials}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        credentials.replace(' ', "/"),
        body.len()
    )?;
    client.flush()
}

/// A head, and as much of a body as the head says.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    body.len() >= length.unwrap_or(0)
}
