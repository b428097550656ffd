//! Files of a request that is being read: counts their bytes, and lets them expire where the
//! request is refused or its client disconnects, as nobody gets their addresses then.

use std::sync::Arc;

use millrace_model::error_chain;
use millrace_model::ids::UploadId;

use crate::EngineError;
use crate::ctx::Ctx;

/// The files of one request until [`Receiving::keep`]; dropped before, they expire at once.
pub(crate) struct Receiving {
    ctx: Arc<Ctx>,
    /// Bytes that files may still have, and could have at first.
    left: usize,
    max: usize,
    stored: Vec<UploadId>,
}

impl Receiving {
    pub(crate) fn new(ctx: &Arc<Ctx>, max: usize) -> Self {
        Self { ctx: ctx.clone(), left: max, max, stored: Vec::new() }
    }

    /// Bytes that files may still have.
    pub(crate) const fn left(&self) -> usize {
        self.left
    }

    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), EngineError> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| too_large(self.max))?;
        Ok(())
    }

    /// A file that is about to be stored.
    pub(crate) fn begin(&mut self, id: UploadId) {
        self.stored.push(id);
    }

    /// All files are here, and their addresses are given to code.
    pub(crate) fn keep(mut self) {
        self.stored.clear();
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        let stored = std::mem::take(&mut self.stored);
        if stored.is_empty() {
            return;
        }
        let ctx = self.ctx.clone();
        self.ctx.tasks.spawn(async move {
            if let Err(error) = ctx.store.expire_uploads(stored, ctx.now()).await {
                // They expire by themselves, later.
                tracing::warn!(
                    error = error_chain(&error),
                    "could not remove the files of a request that was refused"
                );
            }
        });
    }
}

pub(crate) fn too_large(max: usize) -> EngineError {
    EngineError::TooLarge {
        message: format!(
            "the files are larger than {max} bytes, the limit of this server (--upload-max-bytes)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use millrace_model::ids::OrgId;
    use millrace_model::upload::{KEPT_MS, Upload};

    use super::*;
    use crate::EngineConfig;
    use crate::test_ctx::TestCtx;

    /// Stores a file and gives its request's files.
    async fn received(ctx: &Arc<Ctx>) -> Receiving {
        let mut receiving = Receiving::new(ctx, 10);
        let upload = Upload {
            id: UploadId::generate(&ctx.ids),
            org_id: OrgId::generate(&ctx.ids),
            file_name: "a".into(),
            media_type: "a/b".into(),
            size: 0,
            expires_at: ctx.now().plus_ms(KEPT_MS),
        };
        receiving.begin(upload.id.clone());
        ctx.store.create_upload(upload).await.expect("stores");
        receiving
    }

    #[tokio::test]
    async fn files_go_where_their_request_is_refused_or_breaks_off() {
        let test = TestCtx::new(EngineConfig::default());
        let ctx = test.ctx.clone();
        let gone = async || ctx.store.purge_uploads(ctx.now(), 10).await.expect("purges");
        received(&ctx).await.keep();
        let mut refused = received(&ctx).await;
        refused.count(10).expect("fits");
        assert_eq!(refused.count(1).expect_err("is too much").code(), "too_large");
        assert_eq!(gone().await, 0, "both are there");
        drop(refused);
        ctx.tasks.wait(Duration::from_secs(60)).await;
        assert_eq!(gone().await, 1, "the file of the refused request");
    }
}
