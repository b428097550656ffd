//! Catalogue of public apps that ships with Millrace.

use std::collections::HashMap;
use std::sync::OnceLock;

use millrace_model::Timestamp;
use millrace_model::account::{App, AppDefinition, AuthType, CustomField, TOKEN_FIELDS};
use millrace_model::ids::AppId;

use crate::tenants::secrets::sha256_hex;

/// Folder, slug and the keys of `$auth` that the app's public code reads, a line for each app.
const CATALOGUE: &str = include_str!("../../data/auth_keys.tsv");

/// Public apps, known by what their code reads.
pub(super) struct Catalogue {
    /// In the order of slugs.
    pub(super) apps: Vec<App>,
    by_name: HashMap<String, usize>,
}

impl Catalogue {
    pub(super) fn get() -> &'static Self {
        static CATALOGUE_READ: OnceLock<Catalogue> = OnceLock::new();
        CATALOGUE_READ.get_or_init(Self::read)
    }

    fn read() -> Self {
        let mut apps: Vec<App> = CATALOGUE
            .lines()
            .skip(1)
            .filter_map(|line| {
                let mut columns = line.split('\t').skip(1);
                let slug = columns.next().filter(|slug| !slug.is_empty())?;
                Some(inferred(
                    slug,
                    columns.next().unwrap_or("").split(',').filter(|key| !key.is_empty()),
                ))
            })
            .collect();
        apps.sort_by(|a, b| a.name_slug.cmp(&b.name_slug));
        apps.dedup_by(|a, b| a.name_slug == b.name_slug);
        let by_name = apps
            .iter()
            .enumerate()
            .flat_map(|(at, app)| [(app.name_slug.clone(), at), (app.id.to_string(), at)])
            .collect();
        Self { apps, by_name }
    }

    pub(super) fn find(&self, slug_or_id: &str) -> Option<&App> {
        self.by_name.get(slug_or_id).map(|at| &self.apps[*at])
    }
}

/// An app of which only the slug and what its code reads are known.
pub(super) fn inferred<'a>(slug: &str, keys: impl Iterator<Item = &'a str>) -> App {
    let keys: Vec<&str> = keys.collect();
    let auth_type = match keys.as_slice() {
        [] => AuthType::None,
        keys if keys.iter().any(|key| key.starts_with("oauth_")) => AuthType::Oauth,
        _ => AuthType::Keys,
    };
    let custom_fields = keys
        .iter()
        .filter(|key| auth_type != AuthType::Oauth || !TOKEN_FIELDS.contains(key))
        .map(|key| field(key))
        .collect();
    let name = slug
        .split('_')
        .filter(|word| !word.is_empty())
        .map(capitalized)
        .collect::<Vec<_>>()
        .join(" ");
    App {
        id: AppId::from_row(format!("{}{}", AppId::PREFIX, &sha256_hex(slug.as_bytes())[..12])),
        org_id: None,
        name_slug: slug.to_owned(),
        definition: AppDefinition {
            name,
            auth_type,
            description: None,
            img_src: None,
            custom_fields,
            categories: Vec::new(),
            oauth: None,
            open: true,
        },
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
    }
}

fn field(name: &str) -> CustomField {
    CustomField {
        name: name.to_owned(),
        label: Some(name.to_owned()),
        optional: true,
        field_type: Some("password".into()),
        ..CustomField::default()
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_knows_public_apps_by_slug_and_id() {
        let catalogue = Catalogue::get();
        assert!(catalogue.apps.len() > 3000);
        let stripe = catalogue.find("stripe").expect("known");
        assert_eq!(
            (stripe.definition.auth_type, stripe.definition.custom_fields[0].name.as_str()),
            (AuthType::Keys, "api_key")
        );
        assert_eq!(catalogue.find(stripe.id.as_str()), Some(stripe));
        let gitlab = catalogue.find("gitlab").expect("known");
        assert_eq!(gitlab.definition.auth_type, AuthType::Oauth);
        assert_eq!(
            gitlab.definition.custom_fields.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(),
            ["base_api_url"]
        );
    }
}
