//! A first kernel on every card, through the driver's own library: nothing has to be installed for it.
//!
//! A driver lists cards that can't compute: broken ones, ones that fell off the bus, ones whose programs it can't make. Only a
//! kernel tells. The names and numbers are those of NVIDIA's CUDA Driver API reference.
#![expect(unsafe_code, reason = "the driver's library is C")]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr;

use libloading::os::unix::{Library, Symbol};

const LIBRARY: &str = "libcuda.so.1";
/// Compiled by the driver, as a framework's own kernels may be.
const PTX: &str = include_str!("probe.ptx");
const KERNEL: &CStr = c"gpurun_probe";
const THREADS: u32 = 256;

type Status = c_int;
type Device = c_int;
type Pointer = u64;

/// What came of it on one card: `None` when its kernel ran and was right.
pub(super) type Fault = Option<String>;

/// Runs the kernel on every card the driver shows, in its order.
///
/// # Errors
/// What keeps the driver itself from working, in words; and where its library isn't there.
pub(super) fn compute() -> Result<Vec<Fault>, String> {
    let driver = Driver::load()?;
    (0..driver.count()?)
        .map(|card| Ok(driver.card(card).err()))
        .collect()
}

/// The library, with what is called of it.
struct Driver {
    library: Library,
}

impl Driver {
    fn load() -> Result<Self, String> {
        // SAFETY: loading the driver's library runs its initialisers, which is what it is for.
        let library = unsafe { Library::new(LIBRARY) };
        let library = library.map_err(|error| format!("{LIBRARY} can't be loaded: {error}"))?;
        let driver = Self { library };
        let init: Symbol<unsafe extern "C" fn(c_uint) -> Status> = driver.symbol(c"cuInit")?;
        // SAFETY: as the reference declares it; the flags must be 0.
        driver.check("cuInit", unsafe { init(0) })?;
        Ok(driver)
    }

    fn count(&self) -> Result<c_int, String> {
        let ask: Symbol<unsafe extern "C" fn(*mut c_int) -> Status> =
            self.symbol(c"cuDeviceGetCount")?;
        let mut count = 0;
        // SAFETY: writes one integer.
        self.check("cuDeviceGetCount", unsafe { ask(&raw mut count) })?;
        Ok(count)
    }

    /// The kernel on one card, in a context that is given back whatever happens.
    fn card(&self, index: c_int) -> Result<(), String> {
        let get: Symbol<unsafe extern "C" fn(*mut Device, c_int) -> Status> =
            self.symbol(c"cuDeviceGet")?;
        let retain: Symbol<unsafe extern "C" fn(*mut *mut c_void, Device) -> Status> =
            self.symbol(c"cuDevicePrimaryCtxRetain")?;
        let release: Symbol<unsafe extern "C" fn(Device) -> Status> =
            self.symbol(c"cuDevicePrimaryCtxRelease_v2")?;
        let enter: Symbol<unsafe extern "C" fn(*mut c_void) -> Status> =
            self.symbol(c"cuCtxSetCurrent")?;
        let (mut device, mut context) = (0, ptr::null_mut());
        // SAFETY: each writes one value of the type that it is given.
        unsafe {
            self.check("cuDeviceGet", get(&raw mut device, index))?;
            self.check("cuDevicePrimaryCtxRetain", retain(&raw mut context, device))?;
        }
        // SAFETY: the context was retained above, and is released once, after its last use.
        let ran = unsafe {
            self.check("cuCtxSetCurrent", enter(context))
                .and_then(|()| self.kernel())
        };
        // SAFETY: as above.
        let released = unsafe { release(device) };
        ran.and_then(|()| self.check("cuDevicePrimaryCtxRelease", released))
    }

    /// In the current context.
    fn kernel(&self) -> Result<(), String> {
        let load: Symbol<unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> Status> =
            self.symbol(c"cuModuleLoadData")?;
        let find: Symbol<
            unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> Status,
        > = self.symbol(c"cuModuleGetFunction")?;
        let unload: Symbol<unsafe extern "C" fn(*mut c_void) -> Status> =
            self.symbol(c"cuModuleUnload")?;
        let text = CString::new(PTX).map_err(|error| error.to_string())?;
        let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the text ends with a zero byte and outlives the call.
        self.check("cuModuleLoadData", unsafe {
            load(&raw mut module, text.as_ptr().cast())
        })?;
        // SAFETY: the module was loaded above, and is unloaded once, after the kernel has ended.
        let ran = unsafe {
            self.check(
                "cuModuleGetFunction",
                find(&raw mut function, module, KERNEL.as_ptr()),
            )
            .and_then(|()| self.run(function))
        };
        // SAFETY: as above. After a kernel that failed, this fails too, and says nothing new.
        let _ = unsafe { unload(module) };
        ran
    }

    fn run(&self, function: *mut c_void) -> Result<(), String> {
        let allocate: Symbol<unsafe extern "C" fn(*mut Pointer, usize) -> Status> =
            self.symbol(c"cuMemAlloc_v2")?;
        let free: Symbol<unsafe extern "C" fn(Pointer) -> Status> = self.symbol(c"cuMemFree_v2")?;
        let size = THREADS as usize * size_of::<u32>();
        let mut memory: Pointer = 0;
        // SAFETY: writes one pointer.
        self.check("cuMemAlloc", unsafe { allocate(&raw mut memory, size) })?;
        let ran = self.launch(function, memory);
        // SAFETY: allocated above, freed once, after its last use.
        let _ = unsafe { free(memory) };
        ran
    }

    fn launch(&self, function: *mut c_void, mut memory: Pointer) -> Result<(), String> {
        type Launch = unsafe extern "C" fn(
            *mut c_void,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            *mut c_void,
            *mut *mut c_void,
            *mut *mut c_void,
        ) -> Status;
        let launch: Symbol<Launch> = self.symbol(c"cuLaunchKernel")?;
        let wait: Symbol<unsafe extern "C" fn() -> Status> = self.symbol(c"cuCtxSynchronize")?;
        let copy: Symbol<unsafe extern "C" fn(*mut c_void, Pointer, usize) -> Status> =
            self.symbol(c"cuMemcpyDtoH_v2")?;
        let mut found = vec![0_u32; THREADS as usize];
        let mut parameters = [(&raw mut memory).cast::<c_void>()];
        // SAFETY: one block of threads, no shared memory, the default stream, and one parameter, which outlives the call;
        // the memory holds as many numbers as there are threads, and so does what it is copied to.
        unsafe {
            let none = ptr::null_mut();
            let told = launch(
                function,
                1,
                1,
                1,
                THREADS,
                1,
                1,
                0,
                none,
                parameters.as_mut_ptr(),
                ptr::null_mut(),
            );
            self.check("cuLaunchKernel", told)?;
            self.check("cuCtxSynchronize", wait())?;
            let size = size_of_val(found.as_slice());
            self.check(
                "cuMemcpyDtoH",
                copy(found.as_mut_ptr().cast(), memory, size),
            )?;
        }
        let wrong = found.iter().zip(0_u32..).find(|(it, i)| **it != 3 * i + 1);
        match wrong {
            None => Ok(()),
            Some((it, i)) => Err(format!(
                "a kernel came out wrong: {it} where {} is right",
                3 * i + 1
            )),
        }
    }

    fn symbol<T>(&self, name: &CStr) -> Result<Symbol<T>, String> {
        // SAFETY: the caller gives the type that the reference declares.
        unsafe { self.library.get(name.to_bytes_with_nul()) }
            .map_err(|error| format!("{LIBRARY} lacks {}: {error}", name.to_string_lossy()))
    }

    /// What a status means, in the driver's words.
    fn check(&self, call: &str, status: Status) -> Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        type Tell = unsafe extern "C" fn(Status, *mut *const c_char) -> Status;
        let say = |name: &CStr| {
            let tell: Symbol<Tell> = self.symbol(name).ok()?;
            let mut text = ptr::null();
            // SAFETY: writes a pointer to a constant text, or null.
            let known = unsafe { tell(status, &raw mut text) } == 0 && !text.is_null();
            // SAFETY: the driver's texts end with a zero byte and live as long as the library.
            known.then(|| {
                unsafe { CStr::from_ptr(text) }
                    .to_string_lossy()
                    .into_owned()
            })
        };
        let name = say(c"cuGetErrorName").unwrap_or_else(|| format!("error {status}"));
        let text = say(c"cuGetErrorString").unwrap_or_default();
        Err(format!("{call}: {name} ({text})"))
    }
}
