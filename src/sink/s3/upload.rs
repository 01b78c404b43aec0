//! Large files in parts: what an earlier, killed upload brought is not sent again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use aws_sdk_s3::Client;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use md5::{Digest as _, Md5};
use sha2::Sha256;

use super::errors::sorted;
use crate::sink::{Digest, SinkError};

/// What is sent as one request. S3 takes parts from 5 MiB on.
pub(super) const PART: u64 = 8 << 20;
/// S3 takes so many at most; with some room.
const MOST_PARTS: u64 = 9_000;
/// Parts under way at once: so many times [`PART`] is what an upload holds in memory.
const AT_ONCE: usize = 4;
/// Metadata that says what an object holds.
pub(super) const SHA256: &str = "sha256";

/// One file on its way.
pub(super) struct Upload {
    pub(super) client: Client,
    pub(super) bucket: String,
    pub(super) key: String,
    /// For people.
    pub(super) location: String,
    pub(super) source: PathBuf,
    pub(super) digest: Digest,
}

/// A part that the store has.
struct Known {
    etag: String,
    bytes: u64,
}

impl Upload {
    /// Sends it. Nothing is at the key before all of it is.
    pub(super) async fn run(self) -> Result<(), SinkError> {
        if self.digest.bytes <= PART {
            return self.at_once().await;
        }
        let (id, known) = self.begin().await?;
        let sent = self.parts(&id, &known).await;
        match sent {
            Ok(parts) => self.complete(&id, parts).await,
            Err(error @ SinkError::SourceChanged { .. }) => {
                self.abort(&id).await;
                Err(error)
            }
            // Its parts stay: the next try goes on from them.
            Err(error) => Err(error),
        }
    }

    async fn at_once(&self) -> Result<(), SinkError> {
        let content = std::fs::read(&self.source).map_err(|error| self.unreadable(error))?;
        if Digest::of_bytes(&content) != self.digest {
            return Err(self.changed());
        }
        let put = self
            .client
            .put_object()
            .bucket(&self.bucket)
            .key(&self.key)
            .metadata(SHA256, &self.digest.sha256)
            .content_md5(md5_of(&content))
            .body(ByteStream::from(content));
        put.send()
            .await
            .map(drop)
            .map_err(|error| sorted(&self.location, error))
    }

    /// An upload of this key that was begun before, with its parts; else a new one.
    async fn begin(&self) -> Result<(String, BTreeMap<i32, Known>), SinkError> {
        let mut open = self.open_uploads().await;
        let resumed = open.pop();
        for stale in open {
            self.abort(&stale).await;
        }
        if let Some(id) = resumed
            && let Ok(known) = self.known_parts(&id).await
        {
            return Ok((id, known));
        }
        let created = self
            .client
            .create_multipart_upload()
            .bucket(&self.bucket)
            .key(&self.key)
            .metadata(SHA256, &self.digest.sha256)
            .send()
            .await
            .map_err(|error| sorted(&self.location, error))?;
        let id = created.upload_id().unwrap_or_default().to_owned();
        Ok((id, BTreeMap::new()))
    }

    /// Those of this key, oldest first. A store that can't list them has none to go on with.
    async fn open_uploads(&self) -> Vec<String> {
        let listed = self
            .client
            .list_multipart_uploads()
            .bucket(&self.bucket)
            .prefix(&self.key)
            .send()
            .await;
        let Ok(listed) = listed else {
            return Vec::new();
        };
        let mut uploads: Vec<_> = listed
            .uploads()
            .iter()
            .filter(|upload| upload.key() == Some(self.key.as_str()))
            .collect();
        uploads.sort_by_key(|upload| upload.initiated().map(|at| at.as_nanos()));
        uploads
            .into_iter()
            .filter_map(|upload| upload.upload_id().map(str::to_owned))
            .collect()
    }

    async fn known_parts(&self, id: &str) -> Result<BTreeMap<i32, Known>, SinkError> {
        let mut known = BTreeMap::new();
        let mut pages = self
            .client
            .list_parts()
            .bucket(&self.bucket)
            .key(&self.key)
            .upload_id(id)
            .into_paginator()
            .send();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| sorted(&self.location, error))?;
            for part in page.parts() {
                let (Some(number), Some(etag)) = (part.part_number(), part.e_tag()) else {
                    continue;
                };
                let bytes = part.size().and_then(|size| u64::try_from(size).ok());
                known.insert(
                    number,
                    Known {
                        etag: etag.to_owned(),
                        bytes: bytes.unwrap_or_default(),
                    },
                );
            }
        }
        Ok(known)
    }

    /// Sends what the store hasn't. Every part is read, so that the whole is known to be what was announced.
    async fn parts(
        &self,
        id: &str,
        known: &BTreeMap<i32, Known>,
    ) -> Result<Vec<CompletedPart>, SinkError> {
        let size = part_size(self.digest.bytes);
        let mut source = File::open(&self.source).map_err(|error| self.unreadable(error))?;
        let mut whole = Sha256::new();
        let mut under_way = FuturesUnordered::new();
        let mut done = Vec::new();
        let mut number = 0;
        let mut read_bytes = 0;
        loop {
            let content = read_part(&mut source, size).map_err(|error| self.unreadable(error))?;
            if content.is_empty() {
                break;
            }
            number += 1;
            read_bytes += content.len() as u64;
            whole.update(&content);
            let md5 = Md5::digest(&content);
            let is_there = known.get(&number).filter(|part| {
                part.bytes == content.len() as u64
                    && part.etag.trim_matches('"') == format!("{md5:x}")
            });
            if let Some(part) = is_there {
                done.push(completed(number, part.etag.clone()));
                continue;
            }
            under_way.push(self.part(id, number, content, STANDARD.encode(md5)));
            if under_way.len() >= AT_ONCE
                && let Some(sent) = under_way.next().await
            {
                done.push(sent?);
            }
        }
        while let Some(sent) = under_way.next().await {
            done.push(sent?);
        }
        if read_bytes != self.digest.bytes
            || format!("{:x}", whole.finalize()) != self.digest.sha256
        {
            return Err(self.changed());
        }
        done.sort_by_key(CompletedPart::part_number);
        Ok(done)
    }

    async fn part(
        &self,
        id: &str,
        number: i32,
        content: Vec<u8>,
        md5: String,
    ) -> Result<CompletedPart, SinkError> {
        let sent = self
            .client
            .upload_part()
            .bucket(&self.bucket)
            .key(&self.key)
            .upload_id(id)
            .part_number(number)
            .content_md5(md5)
            .body(ByteStream::from(content))
            .send()
            .await
            .map_err(|error| sorted(&self.location, error))?;
        Ok(completed(
            number,
            sent.e_tag().unwrap_or_default().to_owned(),
        ))
    }

    async fn complete(&self, id: &str, parts: Vec<CompletedPart>) -> Result<(), SinkError> {
        let all = CompletedMultipartUpload::builder()
            .set_parts(Some(parts))
            .build();
        let told = self
            .client
            .complete_multipart_upload()
            .bucket(&self.bucket)
            .key(&self.key)
            .upload_id(id)
            .multipart_upload(all)
            .send()
            .await;
        match told {
            Ok(_) => Ok(()),
            // Its answer was lost, and it was asked again: what is there tells.
            Err(error) if error.code() == Some("NoSuchUpload") && self.is_there().await => Ok(()),
            Err(error) => Err(sorted(&self.location, error)),
        }
    }

    async fn is_there(&self) -> bool {
        let head = self
            .client
            .head_object()
            .bucket(&self.bucket)
            .key(&self.key)
            .send()
            .await;
        let said = head
            .ok()
            .and_then(|head| head.metadata()?.get(SHA256).cloned());
        said.as_ref() == Some(&self.digest.sha256)
    }

    async fn abort(&self, id: &str) {
        let told = self
            .client
            .abort_multipart_upload()
            .bucket(&self.bucket)
            .key(&self.key)
            .upload_id(id)
            .send()
            .await;
        if let Err(error) = told {
            tracing::warn!("an unfinished upload of {} stays: {error}", self.location);
        }
    }

    fn unreadable(&self, error: std::io::Error) -> SinkError {
        SinkError::from_io(self.source.display().to_string(), error)
    }

    fn changed(&self) -> SinkError {
        SinkError::SourceChanged {
            path: self.source.display().to_string(),
        }
    }
}

fn completed(number: i32, etag: String) -> CompletedPart {
    CompletedPart::builder()
        .part_number(number)
        .e_tag(etag)
        .build()
}

pub(super) fn md5_of(content: &[u8]) -> String {
    STANDARD.encode(Md5::digest(content))
}

/// Large files have larger parts, not more than the store takes.
fn part_size(bytes: u64) -> u64 {
    PART.max(bytes.div_ceil(MOST_PARTS))
}

/// Up to `size` bytes; fewer only at the end.
fn read_part(source: &mut File, size: u64) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    source.take(size).read_to_end(&mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_never_more_than_a_store_takes() {
        assert_eq!(part_size(1), PART);
        let most = 5_u64 << 40;
        assert!(most.div_ceil(part_size(most)) <= MOST_PARTS);
    }
}
