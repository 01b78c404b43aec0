//! `gpurun`: see `lib.rs`.

fn main() -> std::process::ExitCode {
    gpurun::main()
}
