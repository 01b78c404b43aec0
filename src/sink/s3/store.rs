//! The sink itself.

use std::path::Path;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{BehaviorVersion, Region, RequestChecksumCalculation};
use aws_sdk_s3::primitives::ByteStream;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;

use super::errors::sorted;
use super::upload::{SHA256, Upload, md5_of};
use super::worker::Worker;
use super::{Access, Address};
use crate::sink::names::{checked, partial_of};
use crate::sink::{Digest, Object, Sink, SinkError, Stored};

/// A request is tried so often before it counts as failed; who asked tries again later.
const TRIES: u32 = 4;
const CONNECT: Duration = Duration::from_secs(10);
/// From one byte of an answer to the next.
const SILENCE: Duration = Duration::from_secs(60);

/// One run's folder in a bucket. Only complete objects have a key, so a replacement is atomic; and the store itself
/// refuses content of another MD5 than was announced, so that nothing else than the source replaces what was there.
pub(crate) struct S3 {
    worker: Worker,
    client: Client,
    folder: Address,
}

impl S3 {
    /// The folder of a run, which bears its id: two runs of one name never meet, without leaning on conditional writes,
    /// which not every store that speaks S3 has.
    ///
    /// # Errors
    /// When the run's name can't name a folder.
    pub(crate) fn of_run(
        to: &Address,
        access: &Access,
        run_name: &str,
        run_id: &str,
    ) -> Result<Self, SinkError> {
        let name = format!("{run_name}-{run_id}");
        checked(&name)?;
        Self::at(to.folder(&name), access)
    }

    /// Any folder of a bucket.
    ///
    /// # Errors
    /// When no thread can be had for it.
    pub(crate) fn at(folder: Address, access: &Access) -> Result<Self, SinkError> {
        let worker =
            Worker::new().map_err(|error| SinkError::from_io(folder.to_string(), error))?;
        Ok(Self {
            worker,
            client: client(access),
            folder,
        })
    }

    /// Writes, reads and removes a small object: whether checkpoints can go there at all, before anything is rented.
    ///
    /// # Errors
    /// What the store refuses.
    pub(crate) fn probe(&self) -> Result<(), SinkError> {
        const NAME: &str = "gpurun-probe";
        let content = b"gpurun can write here\n";
        self.put_bytes(NAME, content)?;
        self.verify(NAME, &Digest::of_bytes(content))?;
        let (client, bucket, key) = self.object(NAME);
        let location = self.place(NAME);
        self.wait(async move {
            let removed = client.delete_object().bucket(bucket).key(key).send().await;
            removed.map(drop).map_err(|error| sorted(&location, error))
        })
    }

    fn object(&self, name: &str) -> (Client, String, String) {
        let key = self.folder.key(name);
        (self.client.clone(), self.folder.bucket.clone(), key)
    }

    fn place(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, SinkError>> + Send + 'static,
    ) -> Result<T, SinkError> {
        let told = self.worker.run(future);
        told.map_err(|error| SinkError::from_io(self.folder.to_string(), error))?
    }

    /// Reads an object as it comes, into `to` where there is one, and says what it was.
    fn stream(&self, name: &str, to: Option<&Path>) -> Result<Digest, SinkError> {
        checked(name)?;
        let (client, bucket, key) = self.object(name);
        let location = self.place(name);
        let to = to.map(Path::to_path_buf);
        self.wait(async move {
            let got = client.get_object().bucket(bucket).key(key).send().await;
            let mut body = got.map_err(|error| sorted(&location, error))?.body;
            let mut file = match &to {
                Some(to) => {
                    let made = tokio::fs::File::create(to).await;
                    let shown = to.display().to_string();
                    Some((
                        made.map_err(|error| SinkError::from_io(&shown, error))?,
                        shown,
                    ))
                }
                None => None,
            };
            let (mut hasher, mut bytes) = (Sha256::new(), 0);
            while let Some(chunk) = body.next().await {
                let chunk = chunk
                    .map_err(|error| SinkError::from_io(&location, std::io::Error::other(error)))?;
                hasher.update(&chunk);
                bytes += chunk.len() as u64;
                if let Some((file, shown)) = &mut file {
                    let written = file.write_all(&chunk).await;
                    written.map_err(|error| SinkError::from_io(shown.as_str(), error))?;
                }
            }
            if let Some((file, shown)) = &mut file {
                let synced = file.sync_all().await;
                synced.map_err(|error| SinkError::from_io(shown.as_str(), error))?;
            }
            Ok(Digest {
                sha256: format!("{:x}", hasher.finalize()),
                bytes,
            })
        })
    }
}

impl Sink for S3 {
    fn location(&self) -> String {
        self.folder.to_string()
    }

    fn put(&self, object: &Object<'_>) -> Result<(), SinkError> {
        checked(object.name)?;
        let (client, bucket, key) = self.object(object.name);
        let upload = Upload {
            client,
            bucket,
            key,
            location: self.place(object.name),
            source: object.source.to_path_buf(),
            digest: object.digest.clone(),
        };
        self.wait(upload.run())
    }

    fn put_bytes(&self, name: &str, bytes: &[u8]) -> Result<(), SinkError> {
        checked(name)?;
        let (client, bucket, key) = self.object(name);
        let location = self.place(name);
        let content = bytes.to_vec();
        self.wait(async move {
            let put = client
                .put_object()
                .bucket(bucket)
                .key(key)
                .metadata(SHA256, Digest::of_bytes(&content).sha256)
                .content_md5(md5_of(&content))
                .body(ByteStream::from(content));
            let told = put.send().await;
            told.map(drop).map_err(|error| sorted(&location, error))
        })
    }

    fn verify(&self, name: &str, expected: &Digest) -> Result<(), SinkError> {
        let found = self.stream(name, None)?;
        if found == *expected {
            return Ok(());
        }
        Err(SinkError::Damaged {
            location: self.place(name),
            expected: expected.sha256.clone(),
            found: found.sha256,
        })
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, SinkError> {
        checked(name)?;
        let (client, bucket, key) = self.object(name);
        let location = self.place(name);
        let read = self.wait(async move {
            let got = client.get_object().bucket(bucket).key(key).send().await;
            let body = got.map_err(|error| sorted(&location, error))?.body;
            let whole = body
                .collect()
                .await
                .map_err(|error| SinkError::from_io(&location, std::io::Error::other(error)))?;
            Ok(whole.to_vec())
        });
        match read {
            Ok(content) => Ok(Some(content)),
            Err(SinkError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn get(&self, name: &str, to: &Path) -> Result<Digest, SinkError> {
        let partial = partial_of(to);
        let got = self.stream(name, Some(&partial)).and_then(|digest| {
            let placed = std::fs::rename(&partial, to);
            placed
                .map(|()| digest)
                .map_err(|error| SinkError::from_io(to.display().to_string(), error))
        });
        if got.is_err() {
            let _ = std::fs::remove_file(&partial);
        }
        got
    }

    fn list(&self) -> Result<Vec<Stored>, SinkError> {
        let (client, bucket, folder) = self.object("");
        let location = self.folder.to_string();
        self.wait(async move {
            let mut stored = Vec::new();
            let mut pages = client
                .list_objects_v2()
                .bucket(bucket)
                .prefix(&folder)
                .into_paginator()
                .send();
            while let Some(page) = pages.next().await {
                let page = page.map_err(|error| sorted(&location, error))?;
                stored.extend(page.contents().iter().filter_map(|object| {
                    let name = object.key()?.strip_prefix(&folder)?;
                    let bytes = object.size().and_then(|size| u64::try_from(size).ok());
                    checked(name).ok()?;
                    Some(Stored {
                        name: name.to_owned(),
                        bytes: bytes.unwrap_or_default(),
                    })
                }));
            }
            stored.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(stored)
        })
    }
}

fn client(access: &Access) -> Client {
    let http = aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https();
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        .build();
    let mut config = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(http)
        .credentials_provider(access.credentials())
        .region(Region::new(access.region.clone()))
        // A store of one's own has no name for each bucket.
        .force_path_style(access.endpoint.is_some())
        // Sums that only Amazon asks for confuse others; every body carries its MD5.
        .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
        .retry_config(RetryConfig::standard().with_max_attempts(TRIES))
        .timeout_config(timeouts);
    config.set_endpoint_url(access.endpoint.clone());
    Client::from_conf(config.build())
}
