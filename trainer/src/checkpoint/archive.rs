//! The zip around the pickle.

use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use tch::Tensor;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::error::{CheckpointError, Problem};
use super::limits::{Limits, TENSOR_BYTES_PER_FILE_BYTE};
use super::pickle::pickle;
use super::tensor::{StorageTable, tensor_bytes};
use super::unpickle::unpickle;
use super::value::{StorageRef, TensorRef, Value};

/// An open `.pt` file: its values are read, its storages stay on disk until asked for.
pub struct Archive {
    path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
    file_bytes: u64,
    prefix: String,
    limits: Limits,
    /// Bytes that tensors may still take.
    tensor_budget: u64,
}

impl Archive {
    /// Opens a file of `torch.save` and reads its pickle.
    ///
    /// # Errors
    /// When the file is no such file, is damaged, exceeds `limits`, or names a class that is not data.
    pub fn open(
        path: &Path,
        limits: Limits,
    ) -> Result<(Archive, Value<TensorRef>), CheckpointError> {
        Self::open_inner(path, limits).map_err(|problem| problem.at(path))
    }

    fn open_inner(path: &Path, limits: Limits) -> Result<(Archive, Value<TensorRef>), Problem> {
        let mut file = File::open(path)?;
        let file_bytes = file.metadata()?.len();
        refuse_other_formats(&mut file)?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(zip_problem)?;
        let prefix = zip
            .file_names()
            .filter_map(Result::ok)
            .find_map(|name| name.strip_suffix("data.pkl").map(str::to_owned))
            .filter(|prefix| prefix.ends_with('/') && prefix.matches('/').count() == 1)
            .ok_or_else(|| Problem::Foreign("the zip holds no data.pkl".to_owned()))?;
        let mut archive = Archive {
            path: path.to_owned(),
            zip,
            file_bytes,
            prefix,
            limits,
            tensor_budget: limits
                .tensor_bytes
                .min(file_bytes.saturating_mul(TENSOR_BYTES_PER_FILE_BYTE)),
        };
        if archive.entry_exists("byteorder") && archive.entry("byteorder", 16)? == b"big" {
            return Err(Problem::Foreign("its numbers are big-endian".to_owned()));
        }
        let bytes = archive.entry("data.pkl", limits.pickle_bytes)?;
        let root = unpickle(&bytes, &limits)?;
        Ok((archive, root))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the bytes of a tensor off what they may take together.
    pub(super) fn spend(&mut self, tensor_bytes: u64) -> Result<(), Problem> {
        self.tensor_budget =
            self.tensor_budget
                .checked_sub(tensor_bytes)
                .ok_or(Problem::TooLarge {
                    what: "bytes of tensors for its size",
                    limit: self.limits.tensor_bytes,
                })?;
        Ok(())
    }

    /// The bytes of a storage: exactly its elements.
    pub(super) fn storage(&mut self, storage: &StorageRef) -> Result<Vec<u8>, Problem> {
        let expected = storage
            .elements
            .checked_mul(storage.kind.size())
            .ok_or_else(|| Problem::damaged("a storage of impossible size"))?;
        let name = format!("data/{}", storage.key);
        let mut bytes = self.entry(&name, self.limits.tensor_bytes)?;
        if bytes.len() < expected {
            return Err(Problem::damaged(format!(
                "{name} holds {} of {expected} bytes",
                bytes.len()
            )));
        }
        bytes.truncate(expected);
        Ok(bytes)
    }

    fn entry_exists(&self, name: &str) -> bool {
        self.zip
            .index_for_name(&format!("{}{name}", self.prefix))
            .is_some()
    }

    fn entry(&mut self, name: &str, limit: u64) -> Result<Vec<u8>, Problem> {
        let full = format!("{}{name}", self.prefix);
        let entry = self.zip.by_name(&full).map_err(|e| match e {
            ZipError::FileNotFound => Problem::damaged(format!("{name} is missing")),
            other => zip_problem(other),
        })?;
        if entry.compression() != CompressionMethod::Stored || entry.size() > self.file_bytes {
            return Err(Problem::damaged(format!(
                "{name} is compressed or longer than the file"
            )));
        }
        if entry.size() > limit {
            return Err(Problem::TooLarge {
                what: "bytes in one entry",
                limit,
            });
        }
        let mut bytes = Vec::new();
        // The CRC is checked at the end of the entry.
        entry
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|e| Problem::damaged(format!("{name}: {e}")))?;
        Ok(bytes)
    }
}

/// Writes `root` as `torch.save` would.
///
/// # Errors
/// When writing fails, or a tensor is of a kind no checkpoint holds.
pub fn write<W: Write + Seek>(out: W, root: &Value<Tensor>) -> Result<W, Problem> {
    let mut storages = StorageTable::default();
    let pickled = pickle(root, &mut storages)?;
    let mut zip = ZipWriter::new(out);
    let mut add = |name: &str, bytes: &[u8]| -> Result<(), Problem> {
        // Aligned, so that `torch.load(mmap=True)` can map the storages.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .with_alignment(64)
            .large_file(bytes.len() >= u32::MAX as usize);
        zip.start_file(format!("archive/{name}"), options)
            .map_err(zip_problem)?;
        zip.write_all(bytes)?;
        Ok(())
    };
    add("data.pkl", &pickled)?;
    add(".format_version", b"1")?;
    add(".storage_alignment", b"64")?;
    add("byteorder", b"little")?;
    let mut buffer = Vec::new();
    for (index, tensor) in storages.tensors.iter().enumerate() {
        tensor_bytes(tensor, &mut buffer)?;
        add(&format!("data/{index}"), &buffer)?;
    }
    add("version", b"3\n")?;
    zip.finish().map_err(zip_problem)
}

fn refuse_other_formats(file: &mut File) -> Result<(), Problem> {
    let mut magic = [0; 4];
    let read = file.read(&mut magic)?;
    file.rewind()?;
    match &magic[..read] {
        b"PK\x03\x04" => Ok(()),
        [0x80, ..] => Err(Problem::Foreign(
            "it is a bare pickle, as PyTorch before 1.6 wrote; load and save it with a newer PyTorch".to_owned(),
        )),
        [] => Err(Problem::Foreign("the file is empty".to_owned())),
        _ => Err(Problem::Foreign("it is no zip file".to_owned())),
    }
}

fn zip_problem(error: ZipError) -> Problem {
    match error {
        ZipError::Io(e) if e.kind() != std::io::ErrorKind::UnexpectedEof => Problem::Io(e),
        other => Problem::damaged(other.to_string()),
    }
}
