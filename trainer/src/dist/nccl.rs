//! NCCL by its C interface, from the library that the CUDA libtorch brings.
//!
//! Loaded at run time, so that one binary serves machines with and without it. Source of names, types and
//! constants: NVIDIA's NCCL 2.29 API reference.
#![expect(unsafe_code, reason = "a foreign-function interface")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::time::Duration;

use libloading::os::unix::{Library, Symbol};
use tch::{Device, Kind, Tensor};

use super::error::DistError;
use super::world::Member;
use crate::shim::{self, ProcessGroup};

const LIBRARY: &str = "libnccl.so.2";
const ID_BYTES: usize = 128;
const ID_KEY: &str = "nccl-id";
const ID_TIMEOUT: Duration = Duration::from_secs(300);
const SUM: c_int = 0;

/// `ncclUniqueId`: passed by value.
#[derive(Clone, Copy)]
#[repr(C)]
struct UniqueId([u8; ID_BYTES]);

type Status = c_int;
type GetUniqueId = unsafe extern "C" fn(*mut UniqueId) -> Status;
type CommInitRank = unsafe extern "C" fn(*mut *mut c_void, c_int, UniqueId, c_int) -> Status;
type CommAbort = unsafe extern "C" fn(*mut c_void) -> Status;
type GetErrorString = unsafe extern "C" fn(Status) -> *const c_char;
type AllReduce = unsafe extern "C" fn(
    *const c_void,
    *mut c_void,
    usize,
    c_int,
    c_int,
    *mut c_void,
    *mut c_void,
) -> Status;
type Broadcast = unsafe extern "C" fn(
    *const c_void,
    *mut c_void,
    usize,
    c_int,
    c_int,
    *mut c_void,
    *mut c_void,
) -> Status;

/// This process's end of the group, on one card.
pub(super) struct Communicator {
    functions: Functions,
    communicator: *mut c_void,
    card: usize,
}

// SAFETY: NCCL's handle may be used from any thread, one call at a time; a training makes its calls from one.
unsafe impl Send for Communicator {}
// SAFETY: as above.
unsafe impl Sync for Communicator {}

struct Functions {
    get_unique_id: Symbol<GetUniqueId>,
    comm_init_rank: Symbol<CommInitRank>,
    comm_abort: Symbol<CommAbort>,
    get_error_string: Symbol<GetErrorString>,
    all_reduce: Symbol<AllReduce>,
    broadcast: Symbol<Broadcast>,
    // Last, so that the symbols go first.
    _library: Library,
}

impl Communicator {
    /// Waits for the others; the id that they meet by goes through the store.
    pub(super) fn join(
        card: usize,
        member: &Member,
        store: &ProcessGroup,
    ) -> Result<Self, DistError> {
        let functions = Functions::load()?;
        let failed = |error: shim::ShimError| DistError::Nccl(error.to_string());
        shim::device::set_device(card).map_err(failed)?;
        let mut id = UniqueId([0; ID_BYTES]);
        if member.rank == 0 {
            // SAFETY: `id` is written by the call.
            functions.check(unsafe { (functions.get_unique_id)(&raw mut id) })?;
            store.set(ID_KEY, &id.0).map_err(failed)?;
        } else {
            let bytes = store.get(ID_KEY, ID_TIMEOUT).map_err(failed)?;
            id.0 = bytes
                .try_into()
                .map_err(|_| DistError::Nccl("the others' id has a wrong length".to_owned()))?;
        }
        let mut communicator = std::ptr::null_mut();
        // SAFETY: `communicator` is written by the call; the card is current.
        functions.check(unsafe {
            (functions.comm_init_rank)(
                &raw mut communicator,
                number(member.world),
                id,
                number(member.rank),
            )
        })?;
        Ok(Self {
            functions,
            communicator,
            card,
        })
    }

    /// As [`Collective::all_reduce_sum`](super::Collective::all_reduce_sum), in order with the card's other work.
    pub(super) fn all_reduce_sum(&self, tensor: &Tensor) -> Result<(), DistError> {
        let buffer = self.buffer(tensor)?;
        // SAFETY: the buffer holds that many values of that type and is alive; the call is put into the
        // stream that everything else of this tensor is in.
        self.functions.check(unsafe {
            (self.functions.all_reduce)(
                buffer.pointer,
                buffer.pointer,
                buffer.length,
                buffer.kind,
                SUM,
                self.communicator,
                buffer.stream,
            )
        })
    }

    /// As [`Collective::broadcast`](super::Collective::broadcast).
    pub(super) fn broadcast(&self, tensor: &Tensor, root: u32) -> Result<(), DistError> {
        let buffer = self.buffer(tensor)?;
        // SAFETY: as `all_reduce_sum`.
        self.functions.check(unsafe {
            (self.functions.broadcast)(
                buffer.pointer,
                buffer.pointer,
                buffer.length,
                buffer.kind,
                number(root),
                self.communicator,
                buffer.stream,
            )
        })
    }

    fn buffer(&self, tensor: &Tensor) -> Result<Buffer, DistError> {
        let refused = |why: String| Err(DistError::Nccl(why));
        if tensor.device() != Device::Cuda(self.card) {
            return refused(format!(
                "a tensor of {:?} for card {}",
                tensor.device(),
                self.card
            ));
        }
        if !tensor.is_contiguous() {
            return refused("a tensor that isn't contiguous".to_owned());
        }
        let Some(kind) = data_type(tensor.kind()) else {
            return refused(format!("no sums of {:?}", tensor.kind()));
        };
        Ok(Buffer {
            pointer: tensor.data_ptr(),
            length: tensor.numel(),
            kind,
            stream: shim::device::cuda_stream(self.card)
                .map_err(|error| DistError::Nccl(error.to_string()))?,
        })
    }
}

struct Buffer {
    pointer: *mut c_void,
    length: usize,
    kind: c_int,
    stream: *mut c_void,
}

impl Drop for Communicator {
    fn drop(&mut self) {
        // SAFETY: made by comm_init_rank, ended once. Aborting doesn't wait for processes that are gone.
        let _ = unsafe { (self.functions.comm_abort)(self.communicator) };
    }
}

impl std::fmt::Debug for Communicator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Communicator(card {})", self.card)
    }
}

impl Functions {
    fn load() -> Result<Self, DistError> {
        let failed = |error: libloading::Error| DistError::Nccl(error.to_string());
        // SAFETY: NVIDIA's library, whose initialisers expect nothing.
        let library = unsafe { Library::new(LIBRARY) }.map_err(failed)?;
        // SAFETY: the types are those of NCCL's header.
        unsafe {
            Ok(Self {
                get_unique_id: library.get(b"ncclGetUniqueId\0").map_err(failed)?,
                comm_init_rank: library.get(b"ncclCommInitRank\0").map_err(failed)?,
                comm_abort: library.get(b"ncclCommAbort\0").map_err(failed)?,
                get_error_string: library.get(b"ncclGetErrorString\0").map_err(failed)?,
                all_reduce: library.get(b"ncclAllReduce\0").map_err(failed)?,
                broadcast: library.get(b"ncclBroadcast\0").map_err(failed)?,
                _library: library,
            })
        }
    }

    fn check(&self, status: Status) -> Result<(), DistError> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: returns a constant string for any number.
        let text = unsafe { CStr::from_ptr((self.get_error_string)(status)) };
        Err(DistError::Nccl(text.to_string_lossy().into_owned()))
    }
}

/// `ncclDataType_t`.
fn data_type(kind: Kind) -> Option<c_int> {
    match kind {
        Kind::Int64 => Some(4),
        Kind::Half => Some(6),
        Kind::Float => Some(7),
        Kind::Double => Some(8),
        Kind::BFloat16 => Some(9),
        _ => None,
    }
}

fn number(value: u32) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}
