//! S3: signatures, digests and XML by the crate `s3s`, files by `s3s-fs`, and on top what S3 does and `s3s-fs` doesn't:
//! conditional writes that are atomic, uploads that can be listed, parts with their ETags, and no object after a bad digest.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use s3s::auth::SimpleAuth;
use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, CompleteMultipartUploadInput,
    CompleteMultipartUploadOutput, CreateMultipartUploadInput, CreateMultipartUploadOutput,
    DeleteObjectInput, DeleteObjectOutput, ETag, ETagCondition, GetObjectInput, GetObjectOutput,
    HeadBucketInput, HeadBucketOutput, HeadObjectInput, HeadObjectOutput,
    ListMultipartUploadsInput, ListMultipartUploadsOutput, ListObjectsV2Input, ListObjectsV2Output,
    ListPartsInput, ListPartsOutput, MultipartUpload, PutObjectInput, PutObjectOutput,
    UploadPartInput, UploadPartOutput,
};
use s3s::service::S3ServiceBuilder;
use s3s::{S3, S3Request, S3Response, S3Result, s3_error};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// What can be made to go wrong, for so many requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum S3Fault {
    /// 503 `SlowDown` for writes.
    SlowDown,
    /// 500 `InternalError` for writes.
    InternalError,
    /// 403 `AccessDenied` for everything.
    AccessDenied,
}

/// A server with one bucket. Dropped, it and its objects are gone.
pub struct S3Server {
    url: String,
    folder: tempfile::TempDir,
    state: Arc<State>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// What keeps a server from starting.
#[derive(Debug, thiserror::Error)]
#[error("no S3 server can be put up: {0}")]
pub struct StoreError(String);

#[derive(Default)]
struct State {
    faults: Mutex<HashMap<S3Fault, u32>>,
    /// Requests so far, by operation.
    counts: Mutex<BTreeMap<&'static str, usize>>,
    /// Bucket and key of each upload that isn't complete.
    uploads: Mutex<BTreeMap<String, (String, String)>>,
    etags: Mutex<HashMap<(String, i32), ETag>>,
}

impl S3Server {
    /// The only bucket.
    pub const BUCKET: &'static str = "weights";
    /// Its access key.
    pub const KEY_ID: &'static str = "sim-access-key";
    /// And the secret of that.
    pub const SECRET: &'static str = "sim-secret-access-key";

    /// Puts it up on a free port.
    ///
    /// # Errors
    /// [`StoreError`]: no port, no folder, no thread.
    pub fn start() -> Result<Self, StoreError> {
        let wrong = |error: &dyn std::fmt::Display| StoreError(error.to_string());
        let folder = tempfile::tempdir().map_err(|error| wrong(&error))?;
        std::fs::create_dir(folder.path().join(Self::BUCKET)).map_err(|error| wrong(&error))?;
        let files = s3s_fs::FileSystem::new(folder.path())
            .map_err(|error| StoreError(format!("{error:?}")))?;
        let state = Arc::new(State::default());
        let mut builder = S3ServiceBuilder::new(Strict {
            files,
            turn: tokio::sync::Mutex::new(()),
            state: Arc::clone(&state),
        });
        builder.set_auth(SimpleAuth::from_single(Self::KEY_ID, Self::SECRET));
        let service = builder.build();
        let listener =
            std::net::TcpListener::bind(("127.0.0.1", 0)).map_err(|error| wrong(&error))?;
        listener
            .set_nonblocking(true)
            .map_err(|error| wrong(&error))?;
        let address = listener.local_addr().map_err(|error| wrong(&error))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| wrong(&error))?;
        let (end, ended) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("s3".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    let Ok(listener) = TcpListener::from_std(listener) else {
                        return;
                    };
                    let accept = async {
                        while let Ok((stream, _)) = listener.accept().await {
                            let service = service.clone();
                            tokio::spawn(async move {
                                let stream = hyper_util::rt::TokioIo::new(stream);
                                // A client that goes is no event.
                                let _ = hyper::server::conn::http1::Builder::new()
                                    .serve_connection(stream, service)
                                    .await;
                            });
                        }
                    };
                    tokio::select! {
                        () = accept => {}
                        _ = ended => {}
                    }
                });
            })
            .map_err(|error| wrong(&error))?;
        Ok(Self {
            url: format!("http://{address}"),
            folder,
            state,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where it listens: `127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// Lets the next so many requests that it is about fail.
    pub fn arm(&self, fault: S3Fault, times: u32) {
        lock(&self.state.faults).insert(fault, times);
    }

    /// How often an operation was asked for, `put_object`, `upload_part`, … .
    #[must_use]
    pub fn count(&self, operation: &str) -> usize {
        lock(&self.state.counts)
            .get(operation)
            .copied()
            .unwrap_or(0)
    }

    /// The file behind an object.
    #[must_use]
    pub fn file(&self, key: &str) -> PathBuf {
        self.folder.path().join(Self::BUCKET).join(key)
    }

    /// Uploads that were begun and not ended.
    #[must_use]
    pub fn open_uploads(&self) -> usize {
        lock(&self.state.uploads).len()
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Strict {
    files: s3s_fs::FileSystem,
    /// Conditional writes look and write in one turn.
    turn: tokio::sync::Mutex<()>,
    state: Arc<State>,
}

impl Strict {
    /// Counts a request, and lets an armed fault strike.
    fn enter(&self, operation: &'static str, bucket: &str, writes: bool) -> S3Result<()> {
        *lock(&self.state.counts).entry(operation).or_default() += 1;
        let mut faults = lock(&self.state.faults);
        let mut strikes = |fault| {
            let left = faults.get_mut(&fault).filter(|left| **left > 0);
            left.map(|left| *left -= 1).is_some()
        };
        if strikes(S3Fault::AccessDenied) {
            return Err(s3_error!(AccessDenied));
        }
        if writes && strikes(S3Fault::SlowDown) {
            return Err(s3_error!(SlowDown));
        }
        if writes && strikes(S3Fault::InternalError) {
            return Err(s3_error!(InternalError));
        }
        if bucket != S3Server::BUCKET {
            return Err(s3_error!(NoSuchBucket));
        }
        Ok(())
    }

    async fn etag(&self, bucket: &str, key: &str) -> Option<String> {
        let mut input = HeadObjectInput::builder();
        input.set_bucket(bucket.to_owned());
        input.set_key(key.to_owned());
        let head = self.files.head_object(request(input.build().ok()?)).await;
        let etag = head.ok()?.output.e_tag;
        Some(etag.map(|etag| etag.value().to_owned()).unwrap_or_default())
    }

    async fn check(
        &self,
        (bucket, key): (&str, &str),
        must_be_new: bool,
        must_be: Option<&ETagCondition>,
    ) -> S3Result<()> {
        let current = self.etag(bucket, key).await;
        let wanted = match must_be {
            Some(ETagCondition::ETag(etag)) => Some(etag.value()),
            _ => None,
        };
        let is_other = wanted.is_some() && current.as_deref() != wanted;
        if (must_be_new && current.is_some()) || is_other {
            return Err(s3_error!(PreconditionFailed));
        }
        Ok(())
    }
}

fn request<T>(input: T) -> S3Request<T> {
    S3Request {
        input,
        method: hyper::Method::GET,
        uri: hyper::Uri::default(),
        headers: hyper::HeaderMap::new(),
        extensions: hyper::http::Extensions::new(),
        credentials: None,
        region: None,
        service: None,
        trailing_headers: None,
    }
}

#[async_trait::async_trait]
impl S3 for Strict {
    async fn put_object(
        &self,
        mut req: S3Request<PutObjectInput>,
    ) -> S3Result<S3Response<PutObjectOutput>> {
        self.enter("put_object", &req.input.bucket, true)?;
        let _turn = self.turn.lock().await;
        let (bucket, key) = (req.input.bucket.clone(), req.input.key.clone());
        let before = self.etag(&bucket, &key).await;
        let (new, only) = (
            req.input.if_none_match.take().is_some(),
            req.input.if_match.take(),
        );
        self.check((&bucket, &key), new, only.as_ref()).await?;
        let reply = self.files.put_object(req).await;
        if reply.is_err() && before.is_none() {
            let mut input = DeleteObjectInput::builder();
            input.set_bucket(bucket);
            input.set_key(key);
            if let Ok(input) = input.build() {
                let _ = self.files.delete_object(request(input)).await;
            }
        }
        reply
    }

    async fn get_object(
        &self,
        req: S3Request<GetObjectInput>,
    ) -> S3Result<S3Response<GetObjectOutput>> {
        self.enter("get_object", &req.input.bucket, false)?;
        self.files.get_object(req).await
    }

    async fn head_object(
        &self,
        req: S3Request<HeadObjectInput>,
    ) -> S3Result<S3Response<HeadObjectOutput>> {
        self.enter("head_object", &req.input.bucket, false)?;
        self.files.head_object(req).await
    }

    async fn head_bucket(
        &self,
        req: S3Request<HeadBucketInput>,
    ) -> S3Result<S3Response<HeadBucketOutput>> {
        self.enter("head_bucket", &req.input.bucket, false)?;
        self.files.head_bucket(req).await
    }

    async fn delete_object(
        &self,
        mut req: S3Request<DeleteObjectInput>,
    ) -> S3Result<S3Response<DeleteObjectOutput>> {
        self.enter("delete_object", &req.input.bucket, true)?;
        let _turn = self.turn.lock().await;
        let (bucket, key) = (req.input.bucket.clone(), req.input.key.clone());
        let only = req.input.if_match.take();
        self.check((&bucket, &key), false, only.as_ref()).await?;
        self.files.delete_object(req).await
    }

    async fn list_objects_v2(
        &self,
        req: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        self.enter("list_objects_v2", &req.input.bucket, false)?;
        self.files.list_objects_v2(req).await
    }

    async fn create_multipart_upload(
        &self,
        req: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
        self.enter("create_multipart_upload", &req.input.bucket, true)?;
        let place = (req.input.bucket.clone(), req.input.key.clone());
        let reply = self.files.create_multipart_upload(req).await?;
        let id = reply.output.upload_id.clone().unwrap_or_default();
        lock(&self.state.uploads).insert(id, place);
        Ok(reply)
    }

    async fn upload_part(
        &self,
        req: S3Request<UploadPartInput>,
    ) -> S3Result<S3Response<UploadPartOutput>> {
        self.enter("upload_part", &req.input.bucket, true)?;
        let part = (req.input.upload_id.clone(), req.input.part_number);
        let reply = self.files.upload_part(req).await?;
        if let Some(etag) = &reply.output.e_tag {
            lock(&self.state.etags).insert(part, etag.clone());
        }
        Ok(reply)
    }

    async fn complete_multipart_upload(
        &self,
        mut req: S3Request<CompleteMultipartUploadInput>,
    ) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
        self.enter("complete_multipart_upload", &req.input.bucket, true)?;
        let _turn = self.turn.lock().await;
        let (bucket, key) = (req.input.bucket.clone(), req.input.key.clone());
        let (new, only) = (
            req.input.if_none_match.take().is_some(),
            req.input.if_match.take(),
        );
        self.check((&bucket, &key), new, only.as_ref()).await?;
        let id = req.input.upload_id.clone();
        let reply = self.files.complete_multipart_upload(req).await?;
        lock(&self.state.uploads).remove(&id);
        Ok(reply)
    }

    async fn abort_multipart_upload(
        &self,
        req: S3Request<AbortMultipartUploadInput>,
    ) -> S3Result<S3Response<AbortMultipartUploadOutput>> {
        self.enter("abort_multipart_upload", &req.input.bucket, true)?;
        let id = req.input.upload_id.clone();
        let reply = self.files.abort_multipart_upload(req).await?;
        lock(&self.state.uploads).remove(&id);
        Ok(reply)
    }

    async fn list_parts(
        &self,
        req: S3Request<ListPartsInput>,
    ) -> S3Result<S3Response<ListPartsOutput>> {
        self.enter("list_parts", &req.input.bucket, false)?;
        let id = req.input.upload_id.clone();
        let mut reply = self.files.list_parts(req).await?;
        if let Some(parts) = &mut reply.output.parts {
            parts.sort_by_key(|part| part.part_number);
            let etags = lock(&self.state.etags);
            for part in parts {
                let number = part.part_number.unwrap_or_default();
                part.e_tag = etags.get(&(id.clone(), number)).cloned();
            }
        }
        Ok(reply)
    }

    async fn list_multipart_uploads(
        &self,
        req: S3Request<ListMultipartUploadsInput>,
    ) -> S3Result<S3Response<ListMultipartUploadsOutput>> {
        self.enter("list_multipart_uploads", &req.input.bucket, false)?;
        let prefix = req.input.prefix.clone().unwrap_or_default();
        let bucket = req.input.bucket;
        let uploads = lock(&self.state.uploads);
        let found = uploads
            .iter()
            .filter(|(_, (its_bucket, key))| *its_bucket == bucket && key.starts_with(&prefix))
            .map(|(id, (_, key))| MultipartUpload {
                key: Some(key.clone()),
                upload_id: Some(id.clone()),
                ..MultipartUpload::default()
            });
        Ok(S3Response::new(ListMultipartUploadsOutput {
            uploads: Some(found.collect()),
            bucket: Some(bucket.clone()),
            is_truncated: Some(false),
            ..ListMultipartUploadsOutput::default()
        }))
    }
}
