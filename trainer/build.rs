//! Compiles the C++ shim and makes the binary find libtorch at run time.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-changed=build.rs");
    let lib: PathBuf = env::var_os("DEP_TCH_LIBTORCH_LIB")
        .expect("torch-sys is a direct dependency and says where libtorch lies")
        .into();
    let include = lib.with_file_name("include");
    cc::Build::new()
        .cpp(true)
        .std("c++20")
        .debug(false)
        .warnings(false) // libtorch's headers have many.
        .include(&include)
        .include(include.join("torch/csrc/api/include"))
        .define("_GLIBCXX_USE_CXX11_ABI", "1")
        .include("shim/stub")
        .files([
            "shim/guarded.cpp",
            "shim/optimizer.cpp",
            "shim/device.cpp",
            "shim/process_group.cpp",
            "shim/sync_batch_norm.cpp",
        ])
        .compile("gpurun_train_shim");
    println!("cargo:rustc-link-lib=dylib=torch_cpu");
    println!("cargo:rustc-link-lib=dylib=c10");
    // First the libtorch built against, then one that lies beside an unpacked release: all that one for other machines
    // looks at.
    println!("cargo:rerun-if-env-changed=GPURUN_PORTABLE");
    if env::var_os("GPURUN_PORTABLE").is_none() {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display());
    }
    println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/../libtorch/lib");
}
