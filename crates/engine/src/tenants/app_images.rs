//! Cache of the images of apps: fetched from the address that an app's record names, bounded in
//! size, of types that execute nothing, kept in memory.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use millrace_fair::{Class, FairSemaphore, Policy, Rejected};
use millrace_model::ids::OrgId;
use millrace_model::tenant::Caller;
use parking_lot::Mutex;
use serde_json::json;
use url::Url;

use crate::EngineError;
use crate::answers;
use crate::ctx::Ctx;
use crate::reach::Reach;
use crate::tenants::apps::Apps;

/// The largest image.
const IMAGE_BYTES_MAX: usize = 256 << 10;
/// Images that are kept, of all organizations.
const KEPT_MAX: usize = 100;
/// How long one is kept.
const KEPT_MS: i64 = 24 * 3600 * 1000;
/// How long an address that gave none is not asked again.
const AGAIN_MS: i64 = 10 * 60 * 1000;
/// Images that are fetched at the same time.
const FETCHED_MAX: usize = 4;
/// Of one organization: a page shows many, and one whose images are slow holds up nobody else's.
const FETCHED_OF_ONE: Class = Class::of_tenant(FETCHED_MAX, 100);

/// An image of an app.
#[derive(Clone, Debug)]
pub struct AppImage {
    /// `image/png` and the like.
    pub content_type: &'static str,
    /// What is in it.
    pub bytes: Arc<[u8]>,
}

struct Kept {
    /// The image, or why there is none.
    found: Result<AppImage, String>,
    until: i64,
}

/// The images of all apps.
pub struct AppImages {
    ctx: Arc<Ctx>,
    apps: Arc<Apps>,
    reach: Arc<Reach>,
    cache: ImageCache,
    slots: FairSemaphore<OrgId>,
}

/// Images by their addresses.
#[derive(Default)]
struct ImageCache(Mutex<HashMap<String, Kept>>);

impl ImageCache {
    fn get(&self, address: &str, now: i64) -> Option<Result<AppImage, String>> {
        self.0.lock().get(address).filter(|kept| kept.until > now).map(|kept| kept.found.clone())
    }

    fn put(&self, address: String, found: Result<AppImage, String>, now: i64) {
        let until = now.saturating_add(if found.is_ok() { KEPT_MS } else { AGAIN_MS });
        let mut all = self.0.lock();
        all.retain(|_, kept| kept.until > now);
        if all.len() >= KEPT_MAX
            && let Some(soonest) =
                all.iter().min_by_key(|(_, kept)| kept.until).map(|(address, _)| address.clone())
        {
            all.remove(&soonest);
        }
        all.insert(address, Kept { found, until });
    }
}

impl AppImages {
    pub(crate) fn new(ctx: Arc<Ctx>, apps: Arc<Apps>, reach: Arc<Reach>) -> Self {
        let slots = FairSemaphore::new(Policy::one_at_a_time(FETCHED_MAX));
        Self { ctx, apps, reach, cache: ImageCache::default(), slots }
    }

    /// The image of an app: not found where its record names none.
    pub async fn get(&self, caller: &Caller, slug_or_id: &str) -> Result<AppImage, EngineError> {
        let app = self.apps.get(caller, slug_or_id).await?;
        let Some(address) = app.definition.img_src.filter(|address| !address.is_empty()) else {
            return Err(EngineError::not_found("image of the app", &app.name_slug));
        };
        let failed = |why: String| EngineError::Invalid {
            code: "fetch_failed",
            message: format!(
                "the image of `{}` cannot be shown: {why}; `img_src` of the app names its address",
                app.name_slug
            ),
            details: json!({ "field": "img_src" }),
        };
        if let Some(data) = address.strip_prefix("data:") {
            return of_data(data).map_err(failed);
        }
        let now = self.ctx.now().ms();
        if let Some(kept) = self.cache.get(&address, now) {
            return kept.map_err(failed);
        }
        let too_many = |Rejected| {
            failed("too many images of the organization are fetched at the moment, try again in a few seconds".into())
        };
        let slot = self.slots.acquire(caller.org_id.clone(), (), &FETCHED_OF_ONE).await;
        let _slot = slot.map_err(too_many)?;
        // Another request may have asked meanwhile.
        if let Some(kept) = self.cache.get(&address, now) {
            return kept.map_err(failed);
        }
        let found = self.fetch(&address).await;
        self.cache.put(address, found.clone(), now);
        found.map_err(failed)
    }

    async fn fetch(&self, address: &str) -> Result<AppImage, String> {
        let url = Url::parse(address).map_err(|e| format!("`img_src` is not an address: {e}"))?;
        let client = self.reach.client(&url).await.map_err(|why| why.to_string())?;
        let response =
            client.get(url).send().await.map_err(|_| "its address gave no answer".to_owned())?;
        if !response.status().is_success() {
            return Err(format!("its address answered with {}", response.status().as_u16()));
        }
        let bytes = answers::whole(response, IMAGE_BYTES_MAX).await.map_err(|e| e.to_string())?;
        checked(bytes)
    }
}

/// What stands behind `data:`.
fn of_data(data: &str) -> Result<AppImage, String> {
    let (_, text) = data
        .split_once(";base64,")
        .ok_or("a `data:` address is in base64: `data:image/png;base64,…`")?;
    if text.len() / 4 * 3 > IMAGE_BYTES_MAX {
        return Err(format!("it has more than {IMAGE_BYTES_MAX} bytes"));
    }
    checked(STANDARD.decode(text).map_err(|_| "what follows `base64,` is not base64")?)
}

/// The type is what the bytes say, whatever the other side calls it: none that may hold code, as
/// SVG may.
fn checked(bytes: Vec<u8>) -> Result<AppImage, String> {
    let content_type = match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ => return Err("it is not an image; allowed are PNG, JPEG, GIF and WebP".into()),
    };
    Ok(AppImage { content_type, bytes: bytes.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_images_are_kept_as_may_be_those_first_that_stay_longest() {
        let (images, now) = (ImageCache::default(), 1_000);
        images.put("fails".into(), Err("no".into()), now);
        for n in 0..KEPT_MAX as i64 {
            images.put(n.to_string(), checked(b"GIF89a".to_vec()), now + n);
        }
        assert_eq!(images.0.lock().len(), KEPT_MAX);
        assert!(images.get("fails", now + 1).is_none() && images.get("0", now + 1).is_some());
        assert!(
            images.get("0", now + KEPT_MS).is_none() && images.get("1", now + KEPT_MS).is_some()
        );
    }
}
