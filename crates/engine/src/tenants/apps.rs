//! Apps: those that an organization registered, and the catalogue that ships with Millrace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use millrace_model::account::{App, AppDefinition, AuthType, FIELDS_MAX, OauthClient};
use millrace_model::component::PropDef;
use millrace_model::ids::{AppId, OrgId};
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::Caller;
use tokio::sync::OwnedMutexGuard;

use crate::EngineError;
use crate::ctx::Ctx;
use crate::error::readable;
use crate::tenants::catalogue::{Catalogue, inferred};
use crate::tenants::secrets::Keyring;

/// A longer name of a key is none.
const KEY_BYTES_MAX: usize = 200;

/// Bytes of a definition as JSON: lists of apps hold a hundred of them.
const DEFINITION_BYTES_MAX: usize = 64 * 1024;

/// Keys of `$auth` that code reads, by the app's slug.
pub(crate) type AuthKeys = BTreeMap<String, BTreeSet<String>>;

fn is_slug(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b))
}

fn check_size(definition: &AppDefinition) -> Result<(), EngineError> {
    let bytes = serde_json::to_string(definition)
        .map_err(|error| EngineError::invalid("custom_fields", error.to_string()))?
        .len();
    if bytes > DEFINITION_BYTES_MAX {
        return Err(EngineError::TooLarge {
            message: format!(
                "the app's name, description, fields, categories and OAuth client have {bytes} bytes as JSON; at most {DEFINITION_BYTES_MAX} are kept"
            ),
        });
    }
    Ok(())
}

/// An app to be registered, or changed.
#[derive(Clone, Debug)]
pub struct NewApp {
    /// By which components name it.
    pub name_slug: String,
    /// What it is.
    pub definition: AppDefinition,
}

/// What a list of apps is narrowed by.
#[derive(Clone, Debug, Default)]
pub struct AppFilter {
    /// Words that the slug or name holds.
    pub words: String,
    /// Whether there are components of it, published or in a registry; none: either way.
    pub has_components: Option<bool>,
    /// Whether there are actions among them.
    pub has_actions: Option<bool>,
    /// Whether there are sources among them.
    pub has_triggers: Option<bool>,
}

/// Slugs of the apps that an organization has components of.
#[derive(Default)]
pub(crate) struct Served {
    by_sources: BTreeSet<String>,
    by_actions: BTreeSet<String>,
}

impl Served {
    pub(crate) fn add(&mut self, component_type: &str, app: &str) {
        let apps =
            if component_type == "action" { &mut self.by_actions } else { &mut self.by_sources };
        if !apps.contains(app) {
            apps.insert(app.to_owned());
        }
    }

    fn fits(&self, slug: &str, filter: &AppFilter) -> bool {
        let (sources, actions) = (self.by_sources.contains(slug), self.by_actions.contains(slug));
        [
            (filter.has_components, sources || actions),
            (filter.has_actions, actions),
            (filter.has_triggers, sources),
        ]
        .iter()
        .all(|(wanted, is)| wanted.is_none_or(|wanted| wanted == *is))
    }
}

/// The apps of all organizations, and the catalogue.
pub struct Apps {
    ctx: Arc<Ctx>,
    keyring: Arc<Keyring>,
}

impl Apps {
    pub(crate) const fn new(ctx: Arc<Ctx>, keyring: Arc<Keyring>) -> Self {
        Self { ctx, keyring }
    }

    /// Registers an app for the organization, or replaces its own or the catalogue's of that slug.
    pub async fn put(&self, caller: &Caller, new: NewApp) -> Result<App, EngineError> {
        let _turn = self.turn(caller, &new.name_slug).await;
        self.write(caller, new).await
    }

    /// Changes what an app is made of, from what it is then: of two changes at a time none takes
    /// back what the other changed.
    pub async fn change<E: From<EngineError>>(
        &self,
        caller: &Caller,
        slug_or_id: &str,
        change: impl FnOnce(AppDefinition) -> Result<AppDefinition, E>,
    ) -> Result<App, E> {
        let name_slug = self.get(caller, slug_or_id).await?.name_slug;
        let _turn = self.turn(caller, &name_slug).await;
        let definition = change(self.get(caller, &name_slug).await?.definition)?;
        Ok(self.write(caller, NewApp { name_slug, definition }).await?)
    }

    async fn turn(&self, caller: &Caller, name_slug: &str) -> OwnedMutexGuard<()> {
        self.ctx.changes.turn(&format!("{}/{name_slug}", caller.org_id)).await
    }

    async fn write(&self, caller: &Caller, new: NewApp) -> Result<App, EngineError> {
        let NewApp { name_slug, mut definition } = new;
        if !is_slug(&name_slug) {
            return Err(EngineError::invalid(
                "name_slug",
                "a slug has 1 to 100 characters of a-z, 0-9, `_` and `-`",
            ));
        }
        if definition.name.trim().is_empty() || definition.name.chars().count() > 200 {
            return Err(EngineError::invalid("name", "a name has 1 to 200 characters"));
        }
        let names =
            definition.custom_fields.iter().map(|f| f.name.as_str()).collect::<BTreeSet<_>>();
        if names.len() != definition.custom_fields.len()
            || names.contains("")
            || names.len() > FIELDS_MAX
        {
            return Err(EngineError::invalid(
                "custom_fields",
                format!("each of at most {FIELDS_MAX} fields has a name of its own"),
            ));
        }
        check_size(&definition)?;
        let now = self.ctx.now();
        // One that cannot be read is replaced whole.
        let before = self.ctx.store.app(&caller.org_id, &name_slug).await.map_err(Into::into);
        let before = readable(before)?.flatten();
        let id =
            before.as_ref().map_or_else(|| AppId::generate(&self.ctx.ids), |app| app.id.clone());
        let kept = before.as_ref().and_then(|app| app.definition.oauth.as_ref());
        if let Some(client) = &mut definition.oauth {
            self.seal_client(&id, client, kept)?;
        }
        let app = App {
            id,
            org_id: Some(caller.org_id.clone()),
            name_slug,
            definition,
            created_at: before.map_or(now, |app| app.created_at),
            updated_at: now,
        };
        self.ctx.store.put_app(app.clone()).await?;
        Ok(app)
    }

    /// Checks an OAuth client and seals its secret; one that is not given stays.
    fn seal_client(
        &self,
        app: &AppId,
        client: &mut OauthClient,
        before: Option<&OauthClient>,
    ) -> Result<(), EngineError> {
        for (field, address) in [
            ("authorize_url", Some(&client.authorize_url)),
            ("token_url", Some(&client.token_url)),
            ("revoke_url", client.revoke_url.as_ref()),
        ] {
            let Some(address) = address else { continue };
            if !url::Url::parse(address).is_ok_and(|url| {
                matches!(url.scheme(), "http" | "https") && url.host_str().is_some()
            }) {
                return Err(EngineError::invalid(
                    &format!("oauth.{field}"),
                    format!(
                        "`oauth.{field}` is not an address; allowed are http: and https: with a host"
                    ),
                ));
            }
        }
        if client.client_id.is_empty() {
            return Err(EngineError::missing(
                "oauth.client_id",
                "`oauth.client_id` is missing; the provider gives it when a client is registered there",
            ));
        }
        client.client_secret = match (client.client_secret.as_str(), before) {
            // The kept secret goes only where it went before: whoever may change an address may not
            // know it.
            ("", Some(before))
                if before.token_url == client.token_url && before.client_id == client.client_id =>
            {
                before.client_secret.clone()
            }
            ("", Some(_)) => {
                let message = "`oauth.client_secret` is missing; with another `token_url` or `client_id` it has to be given again";
                return Err(EngineError::missing("oauth.client_secret", message));
            }
            ("", None) => {
                return Err(EngineError::missing(
                    "oauth.client_secret",
                    "`oauth.client_secret` is missing; the provider gives it with the client's id",
                ));
            }
            (secret, _) => self.keyring.seal(&self.ctx.ids, app.as_str(), secret)?,
        };
        Ok(())
    }

    /// Registers the apps that a component names and nobody knows yet, with the keys of `$auth`
    /// that its code reads, so that accounts of them can be connected. An app that was registered
    /// so before learns keys that only this code reads.
    pub(crate) async fn infer(
        &self,
        caller: &Caller,
        defs: &[PropDef],
        keys: &AuthKeys,
    ) -> Result<(), EngineError> {
        let none = BTreeSet::new();
        for slug in defs.iter().filter_map(PropDef::app) {
            if !is_slug(slug) {
                continue;
            }
            let read = keys
                .get(slug)
                .unwrap_or(&none)
                .iter()
                .filter(|key| key.len() <= KEY_BYTES_MAX)
                .take(FIELDS_MAX)
                .map(String::as_str);
            let _turn = self.ctx.changes.turn(&format!("{}/{slug}", caller.org_id)).await;
            let now = self.ctx.now();
            let app = match self.find(&caller.org_id, slug).await? {
                None => {
                    let id = AppId::generate(&self.ctx.ids);
                    App {
                        id,
                        org_id: Some(caller.org_id.clone()),
                        created_at: now,
                        updated_at: now,
                        ..inferred(slug, read)
                    }
                }
                Some(known) if known.org_id.is_some() && known.definition.open => {
                    let before: Vec<String> =
                        known.definition.custom_fields.iter().map(|f| f.name.clone()).collect();
                    let all: BTreeSet<&str> =
                        before.iter().map(String::as_str).chain(read).collect();
                    if all.len() == before.len() || all.len() > FIELDS_MAX {
                        continue;
                    }
                    let AppDefinition { mut auth_type, custom_fields, .. } =
                        inferred(slug, all.into_iter()).definition;
                    // The keys that only OAuth gives are no fields, by which it is inferred.
                    if known.definition.auth_type == AuthType::Oauth {
                        auth_type = AuthType::Oauth;
                    }
                    App {
                        updated_at: now,
                        definition: AppDefinition { auth_type, custom_fields, ..known.definition },
                        ..known
                    }
                }
                Some(_) => continue,
            };
            self.ctx.store.put_app(app).await?;
        }
        Ok(())
    }

    /// An app by slug or id.
    pub async fn get(&self, caller: &Caller, slug_or_id: &str) -> Result<App, EngineError> {
        self.find(&caller.org_id, slug_or_id)
            .await?
            .ok_or_else(|| EngineError::not_found("app", slug_or_id))
    }

    pub(crate) async fn find(
        &self,
        org: &OrgId,
        slug_or_id: &str,
    ) -> Result<Option<App>, EngineError> {
        if let Some(app) = self.ctx.store.app(org, slug_or_id).await? {
            return Ok(Some(app));
        }
        if let Ok(id) = slug_or_id.parse::<AppId>()
            && let Some(app) = self.ctx.store.app_by_id(org, &id).await?
        {
            return Ok(Some(app));
        }
        Ok(Catalogue::get().find(slug_or_id).cloned())
    }

    /// Apps by slug: the organization's own in place of the catalogue's. `served`: those that it
    /// has components of, where the filter asks for them.
    pub(crate) async fn list(
        &self,
        caller: &Caller,
        filter: &AppFilter,
        served: Option<&Served>,
        page: &Page,
    ) -> Result<Listing<App>, EngineError> {
        let Listing { items: own, damaged, .. } =
            self.ctx.store.list_apps(&caller.org_id, page).await?;
        let words: Vec<String> = filter.words.split_whitespace().map(str::to_lowercase).collect();
        let fits = |app: &App| {
            if served.is_some_and(|served| !served.fits(&app.name_slug, filter)) {
                return false;
            }
            let text = format!("{} {}", app.name_slug, app.definition.name.to_lowercase());
            words.iter().all(|word| text.contains(word.as_str()))
        };
        let catalogue = Catalogue::get()
            .apps
            .iter()
            .filter(|app| own.binary_search_by(|o| o.name_slug.cmp(&app.name_slug)).is_err());
        let mut found: Vec<&App> = own.iter().chain(catalogue).filter(|app| fits(app)).collect();
        found.sort_by(|a, b| a.name_slug.cmp(&b.name_slug));
        let total_count = found.len() as u64;
        // A cursor is a slug (facts 0), which tells its place whether there is such an app or not;
        // an id names an app.
        let slug = |cursor: &Option<String>| {
            let named = |text: &str| {
                found
                    .iter()
                    .find(|app| app.id.as_str() == text)
                    .map_or_else(|| text.to_owned(), |app| app.name_slug.clone())
            };
            cursor.as_deref().map(named)
        };
        let (after, before, limit) = (slug(&page.after), slug(&page.before), page.limit as usize);
        let start = after.map_or(0, |slug| found.partition_point(|app| app.name_slug <= slug));
        let end = before
            .map_or(found.len(), |slug| found.partition_point(|app| app.name_slug < slug))
            .max(start);
        let range = if page.from_end() {
            end.saturating_sub(limit).max(start)..end
        } else {
            start..end.min(start + limit)
        };
        // They have no place among the slugs: the first page names them.
        let damaged = if page.cursors().next().is_none() { damaged } else { Vec::new() };
        let items = found[range].iter().map(|app| (*app).clone()).collect();
        Ok(Listing { items, total_count, damaged })
    }
}
