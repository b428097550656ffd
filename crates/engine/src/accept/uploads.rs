//! Files in requests to endpoints (reference 3): stored for half an hour, at an address that
//! contains an unguessable code.

use bytes::{Bytes, BytesMut};
use encoding_rs::Encoding;
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use millrace_model::clock::Timestamp;
use millrace_model::file::StoredFile;
use millrace_model::http::BodyFault;
use millrace_model::ids::{OrgId, UploadId};
use millrace_model::upload::{KEPT_MS, PART_BYTES, Upload};
use percent_encoding::utf8_percent_encode;
use serde_json::{Map, Value, json};

use crate::accept::charsets::{CHARSET_FIELD, charset_for, charset_of, of_label, whole_text};
use crate::accept::form_head::Word;
use crate::accept::form_reader::{FormError, FormReader};
use crate::accept::http_event::add_pair;
use crate::accept::kept_files::FILE_BYTES_MIN;
use crate::accept::receiving::{Receiving, too_large};
use crate::deliver::s3::UNRESERVED;
use crate::tenants::secrets::same;
use crate::{Engine, EngineError};

/// Parts of a form.
const FIELDS_MAX: usize = 1_000;
/// A longer name of a file is cut.
const NAME_CHARS_MAX: usize = 255;
/// A part of a media type that is no more than this is one.
pub(crate) const MEDIA_TYPE_BYTES_MAX: usize = 200;
/// What addresses are coded for.
const PURPOSE: &str = "upload";
/// What temporary addresses of stored files are coded for.
const LINK_PURPOSE: &str = "stored file";
/// What a sender that names none means (RFC 9110).
const BYTES: &str = "application/octet-stream";

/// What of a request's body becomes files.
#[derive(Clone, Debug)]
pub enum FilesIn {
    /// The files of a form, which stand in it in their places.
    Form {
        /// What separates its parts.
        boundary: String,
        /// The media type of all of it, which may name the charset of its texts.
        media_type: String,
        /// How many bytes its other fields, and the names and types of all, may have together.
        text_max: usize,
    },
    /// All of it.
    Body {
        /// Its media type, as the sender gave it.
        media_type: String,
    },
}

/// A field of a form, as it is read.
enum FieldValue {
    /// What stands in the place of a file.
    File(Value),
    /// Bytes, and the media type that they came with.
    Text(Bytes, Option<String>),
}

/// A body in the pieces that it comes in. An error holds a [`BodyFault`]; any other is that of the
/// connection.
pub type Pieces = std::pin::Pin<Box<dyn Stream<Item = std::io::Result<Bytes>> + Send>>;

impl Engine {
    /// Bytes that the files of one request may have.
    pub fn upload_max_bytes(&self) -> usize {
        self.0.config.upload_max_bytes
    }

    /// Keeps the files of a request's body and gives what code sees as the body.
    pub async fn take_files(
        &self,
        org: &OrgId,
        files: FilesIn,
        body: Pieces,
    ) -> Result<Value, EngineError> {
        let mut receiving = Receiving::new(&self.0.ctx, self.0.config.upload_max_bytes);
        let seen = match files {
            FilesIn::Body { media_type } => {
                let pieces = body.map_err(|error| EngineError::from(BodyFault::of(&error)));
                let url = self.keep(org, ("body", &media_type), pieces, &mut receiving).await?;
                json!({ "raw_body_url": url })
            }
            FilesIn::Form { boundary, media_type, text_max } => {
                self.take_form(
                    org,
                    (boundary, body),
                    (charset_of(&media_type), text_max),
                    &mut receiving,
                )
                .await?
            }
        };
        receiving.keep();
        Ok(seen)
    }

    /// Keeps the files of a form. Its texts are decoded once all of it is here: the field that
    /// names their charset may come last.
    async fn take_form(
        &self,
        org: &OrgId,
        (boundary, body): (String, Pieces),
        (charset, text_max): (Option<&'static Encoding>, usize),
        files: &mut Receiving,
    ) -> Result<Value, EngineError> {
        let max = u64::try_from(files.left().saturating_add(text_max)).unwrap_or(u64::MAX);
        let mut form = FormReader::new(body, boundary, max);
        let (mut fields, mut text_left) = (Vec::<(Word, FieldValue)>::new(), text_max);
        let mut count = |bytes: usize| {
            text_left = text_left.checked_sub(bytes).ok_or_else(|| {
                let message = format!("the form's fields and names have more than {text_max} bytes beside its files (--http-body-max-bytes)");
                EngineError::TooLarge { message }
            })?;
            Ok::<_, EngineError>(())
        };
        let mut named = None;
        while let Some(part) = form.next_part().await.map_err(|e| refused(e, max))? {
            if fields.len() == FIELDS_MAX {
                return Err(EngineError::TooLarge {
                    message: format!("the form has more than {FIELDS_MAX} fields"),
                });
            }
            count(
                part.name.len()
                    + part.media_type.as_ref().map_or(0, String::len)
                    + part.file_name.as_ref().map_or(0, Word::len),
            )?;
            let value = match part.file_name {
                Some(file_name) => {
                    // What it is kept under is known before the rest of the form is.
                    let file_name = file_name.text(named.or(charset));
                    let media_type = part.media_type.unwrap_or_else(|| BYTES.to_owned());
                    let pieces = form.rest().map_err(|e| refused(e, max));
                    FieldValue::File(
                        self.keep_in_form(org, (&file_name, &media_type), pieces, files).await?,
                    )
                }
                None => {
                    let mut bytes = BytesMut::new();
                    while let Some(piece) = form.chunk().await.map_err(|e| refused(e, max))? {
                        count(piece.len())?;
                        bytes.extend_from_slice(&piece);
                    }
                    if part.name.is(CHARSET_FIELD) {
                        named = named.or_else(|| of_label(bytes.trim_ascii()));
                    }
                    FieldValue::Text(bytes.freeze(), part.media_type)
                }
            };
            fields.push((part.name, value));
        }
        let mut read = Map::new();
        for (name, value) in fields {
            let name = name.text(named.or(charset));
            let value = match value {
                FieldValue::File(record) => record,
                FieldValue::Text(bytes, media_type) => {
                    let own = media_type.as_deref().unwrap_or("").to_ascii_lowercase();
                    match whole_text(charset_for(&own, named.or(charset), &bytes), &bytes) {
                        Some(text) => Value::from(text),
                        // A part that is no text is a file that its sender gave no name.
                        None => {
                            let media_type = media_type.unwrap_or_else(|| BYTES.to_owned());
                            let once = futures::stream::once(async move { Ok(bytes) });
                            self.keep_in_form(org, (&name, &media_type), once, files).await?
                        }
                    }
                }
            };
            add_pair(&mut read, name, value);
        }
        Ok(Value::Object(read))
    }

    /// Keeps a file of a form and gives what stands in its place.
    async fn keep_in_form(
        &self,
        org: &OrgId,
        (file_name, media_type): (&str, &str),
        pieces: impl Stream<Item = Result<Bytes, EngineError>>,
        files: &mut Receiving,
    ) -> Result<Value, EngineError> {
        let url = self.keep(org, (file_name, media_type), pieces, files).await?;
        Ok(json!({ "filename": file_name, "mimetype": media_type, "url": url }))
    }

    /// Keeps a file and gives its address.
    async fn keep(
        &self,
        org: &OrgId,
        (file_name, media_type): (&str, &str),
        pieces: impl Stream<Item = Result<Bytes, EngineError>>,
        files: &mut Receiving,
    ) -> Result<String, EngineError> {
        let count = |bytes| {
            self.0.kept_files.take(org, bytes, self.0.config.uploads_kept_bytes, self.now())
        };
        count(FILE_BYTES_MIN)?;
        let pieces = pieces.map(|piece| piece.and_then(|bytes| count(bytes.len()).map(|()| bytes)));
        let id = self.receive(org, (file_name, media_type), pieces, files).await?;
        Ok(format!("{}/uploads/{}", self.0.config.base_url, self.upload_token(&id)))
    }

    /// Stores a file as it comes.
    pub(crate) async fn receive(
        &self,
        org: &OrgId,
        (file_name, media_type): (&str, &str),
        pieces: impl Stream<Item = Result<Bytes, EngineError>>,
        files: &mut Receiving,
    ) -> Result<UploadId, EngineError> {
        let upload = Upload {
            id: UploadId::generate(&self.0.ids),
            org_id: org.clone(),
            file_name: file_name.chars().take(NAME_CHARS_MAX).collect(),
            media_type: if media_type.len() <= MEDIA_TYPE_BYTES_MAX {
                media_type.to_owned()
            } else {
                BYTES.to_owned()
            },
            size: 0,
            expires_at: self.now().plus_ms(KEPT_MS),
        };
        let id = upload.id.clone();
        files.begin(id.clone());
        self.0.store.create_upload(upload).await?;
        let (mut part, mut position, mut size) = (BytesMut::new(), 0, 0_i64);
        let mut pieces = std::pin::pin!(pieces);
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            files.count(piece.len())?;
            size += i64::try_from(piece.len()).unwrap_or(i64::MAX);
            part.extend_from_slice(&piece);
            while part.len() >= PART_BYTES {
                self.0
                    .store
                    .add_upload_part(&id, position, part.split_to(PART_BYTES).to_vec())
                    .await?;
                position += 1;
            }
        }
        if !part.is_empty() {
            self.0.store.add_upload_part(&id, position, part.to_vec()).await?;
        }
        self.0.store.finish_upload(&id, size).await?;
        Ok(id)
    }

    fn upload_token(&self, id: &UploadId) -> String {
        format!("{id}-{}", self.0.keyring.code(PURPOSE, id.as_str()))
    }

    /// The file that an address leads to. `NotFound` for an address that was not given out here;
    /// `Gone` once its time is over.
    pub async fn upload(&self, token: &str) -> Result<Upload, EngineError> {
        let unknown = || EngineError::not_found("file", millrace_model::shown(token));
        let id: UploadId =
            token.split_once('-').and_then(|(id, _)| id.parse().ok()).ok_or_else(unknown)?;
        let expected = self.upload_token(&id);
        if !same(expected.as_bytes(), token.as_bytes()) {
            return Err(unknown());
        }
        let upload =
            self.0.store.upload(&id).await?.filter(|upload| upload.expires_at > self.now());
        upload.ok_or_else(|| EngineError::Gone {
            message: format!("this file was kept for {} minutes and is gone", KEPT_MS / 60_000),
        })
    }

    /// A temporary address of a stored file. It ends with the file's name, by which clients name
    /// what they download.
    pub(crate) fn link_to_file(&self, file: &StoredFile) -> String {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let until = self.now().plus_ms(KEPT_MS);
        let code = self.link_code(&file.upload_id, until, name);
        format!(
            "{}/uploads/{}-{}-{code}/{}",
            self.0.config.base_url,
            file.upload_id,
            until.ms(),
            utf8_percent_encode(name, UNRESERVED)
        )
    }

    /// The stored file that a temporary address leads to. `NotFound` for an address that this
    /// server did not make; `Gone` once its time is over or its contents are gone.
    pub async fn linked_file(&self, token: &str, name: &str) -> Result<Upload, EngineError> {
        let unknown =
            || EngineError::not_found("file", millrace_model::shown(&format!("{token}/{name}")));
        let mut parts = token.splitn(3, '-');
        let (id, until, code) =
            (parts.next(), parts.next().and_then(|ms| ms.parse().ok()), parts.next());
        let (Some(id), Some(until), Some(code)) =
            (id.and_then(|id| id.parse::<UploadId>().ok()), until.map(Timestamp), code)
        else {
            return Err(unknown());
        };
        if !same(self.link_code(&id, until, name).as_bytes(), code.as_bytes()) {
            return Err(unknown());
        }
        let now = self.now();
        let upload =
            self.0.store.upload(&id).await?.filter(|upload| until > now && upload.expires_at > now);
        let upload = upload.ok_or_else(|| EngineError::Gone {
            message: format!(
                "this address was valid for {} minutes; ask for another",
                KEPT_MS / 60_000
            ),
        })?;
        let media_type =
            if upload.media_type.is_empty() { BYTES.to_owned() } else { upload.media_type };
        Ok(Upload { file_name: name.to_owned(), media_type, ..upload })
    }

    fn link_code(&self, id: &UploadId, until: Timestamp, name: &str) -> String {
        self.0.keyring.code(LINK_PURPOSE, &format!("{id} {} {name}", until.ms()))
    }

    /// The parts of a file, in order.
    pub fn upload_parts(&self, upload: &UploadId) -> Pieces {
        let (engine, id) = (self.clone(), upload.clone());
        Box::pin(futures::stream::try_unfold(0, move |position| {
            let (engine, id) = (engine.clone(), id.clone());
            async move {
                let part = engine
                    .0
                    .store
                    .upload_part(&id, position)
                    .await
                    .map_err(std::io::Error::other)?;
                Ok(part.map(|bytes| (Bytes::from(bytes), position + 1)))
            }
        }))
    }
}

fn refused(error: FormError, max: u64) -> EngineError {
    match error {
        FormError::TooLarge => too_large(usize::try_from(max).unwrap_or(usize::MAX)),
        FormError::HeadTooLong => EngineError::TooLarge { message: error.to_string() },
        FormError::Body(cause) => BodyFault::of(&cause).into(),
        FormError::Incomplete(_) => EngineError::Invalid {
            code: "malformed_form",
            message: format!("the body is not the form that its `Content-Type` says: {error}"),
            details: json!({}),
        },
    }
}
