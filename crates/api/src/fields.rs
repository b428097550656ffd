//! Answers of records: fields that are asked for, pages of lists and their cursors.

use std::fmt::Display;

use axum::Json;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use millrace_engine::EngineError;
use millrace_model::page::{Listing, Page};
use serde_json::{Value, json};

use crate::audit::Shown;
use crate::contract::shape::record;
use crate::error::ApiError;
use crate::extract::{Params, encode_cursor};
use crate::v1::runs::SearchedOut;

record! {
    /// Where a page stands in its list
    PageInfoOut<'a>(
        total_count: u64,
        count: usize,
        cursors: (Option<String>, Option<String>),
        damaged: &'a [String],
        search: Option<SearchedOut>,
    ) {
        total_count: u64 = total_count,
        count: usize = count,
        start_cursor: Option<String> = cursors.0,
        end_cursor: Option<String> = cursors.1,
        #[serde(skip_serializing_if = "Option::is_none")]
        search: Option<SearchedOut> = search,
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        damaged: &'a [String] = damaged,
    }
}

/// An answer with the entity tag of the record that it shows.
pub(crate) fn tagged(tag: &impl Display, mut response: Response) -> Response {
    if let Ok(tag) = HeaderValue::try_from(format!("\"{tag}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// `include` and `exclude`: names of fields of the record or of each item.
#[derive(Default)]
pub(crate) struct Fields {
    include: Option<Vec<String>>,
    exclude: Vec<String>,
}

impl Fields {
    pub(crate) fn of(params: &Params) -> Self {
        let list = |field: &str| {
            let names = |text: &str| {
                text.split(',')
                    .map(|f| f.trim().to_owned())
                    .filter(|f| !f.is_empty())
                    .collect::<Vec<_>>()
            };
            params.0.get(field).and_then(Value::as_str).map(names).filter(|names| !names.is_empty())
        };
        Self { include: list("include"), exclude: list("exclude").unwrap_or_default() }
    }

    /// Whether a field is asked for by its name.
    pub(crate) fn names(&self, field: &str) -> bool {
        self.include.as_ref().is_some_and(|names| names.iter().any(|name| name == field))
    }

    /// A record, as far as it is asked for.
    pub(crate) fn apply(&self, mut value: Value) -> Value {
        if let Value::Object(object) = &mut value {
            object.retain(|name, _| {
                self.include.as_ref().is_none_or(|i| i.contains(name))
                    && !self.exclude.contains(name)
            });
        }
        value
    }

    /// `{"data": …}`.
    pub(crate) fn data(&self, value: Value) -> Response {
        let shown = value["id"].as_str().map(|id| Shown(id.to_owned()));
        let mut response = Json(json!({ "data": self.apply(value) })).into_response();
        if let Some(shown) = shown {
            response.extensions_mut().insert(shown);
        }
        response
    }

    /// `{"page_info": …, "data": […]}`; `cursor` gives an item's own.
    pub(crate) fn list(&self, total_count: u64, items: Vec<(String, Value)>) -> Response {
        self.list_with(total_count, items, &[], None)
    }

    /// `damaged`: ids of records that cannot be read; `searched`: what a search looked at.
    pub(crate) fn list_with(
        &self,
        total_count: u64,
        items: Vec<(String, Value)>,
        damaged: &[String],
        searched: Option<SearchedOut>,
    ) -> Response {
        // Where nothing of a page can be read, the next one is still to be found.
        let cursor = |item: Option<&(String, Value)>, other: Option<&String>| {
            item.map(|(cursor, _)| cursor.clone()).or_else(|| other.map(|id| encode_cursor(id)))
        };
        let (start, end) =
            (cursor(items.first(), damaged.first()), cursor(items.last(), damaged.last()));
        let page_info = PageInfoOut::new(total_count, items.len(), (start, end), damaged, searched);
        let data: Vec<Value> = items.into_iter().map(|(_, item)| self.apply(item)).collect();
        Json(json!({ "page_info": page_info, "data": data })).into_response()
    }

    /// A page of a list that is there as a whole; each item with its cursor.
    pub(crate) fn whole(
        &self,
        items: Vec<(String, Value)>,
        page: &Page,
    ) -> Result<Response, ApiError> {
        let (total, items) = Self::page_of(items, page)?;
        Ok(self.list(total, items))
    }

    /// How many there are in all, and those on the page.
    pub(crate) fn page_of(
        mut items: Vec<(String, Value)>,
        page: &Page,
    ) -> Result<(u64, Vec<(String, Value)>), ApiError> {
        let total = items.len();
        let (mut start, mut end) = (0, total);
        for (name, cursor) in page.cursors() {
            let at = items
                .iter()
                .position(|(own, _)| own == cursor || *own == encode_cursor(cursor))
                .ok_or_else(|| EngineError::unknown_cursor(name))?;
            if name == "after" { start = at + 1 } else { end = at }
        }
        let limit = page.limit as usize;
        let range = if page.from_end() {
            end.saturating_sub(limit)..end
        } else {
            start..end.max(start).min(start + limit)
        };
        Ok((total as u64, items.drain(range).collect()))
    }

    /// A list of records whose cursor is their id.
    pub(crate) fn records<T>(&self, listing: Listing<T>, show: impl Fn(T) -> Value) -> Response {
        self.searched(listing, None, show)
    }

    /// The same of a search.
    pub(crate) fn searched<T>(
        &self,
        listing: Listing<T>,
        searched: Option<SearchedOut>,
        show: impl Fn(T) -> Value,
    ) -> Response {
        let items = listing
            .items
            .into_iter()
            .map(show)
            .map(|item| (encode_cursor(item["id"].as_str().unwrap_or("")), item))
            .collect();
        self.list_with(listing.total_count, items, &listing.damaged, searched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn body(response: Response) -> Value {
        millrace_model::json::from_slice(
            &axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap(),
        )
        .unwrap()
    }

    fn fields(query: &str) -> Fields {
        Fields::of(&Params(crate::extract::query(Some(query))))
    }

    #[tokio::test]
    async fn lists_tell_their_page_also_when_ids_are_left_out() {
        let listing = |ids: &[&str]| {
            Listing::of(
                ids.iter().map(|id| json!({ "id": id, "name": "n", "code": "c" })).collect(),
                19,
            )
        };
        let shown =
            body(fields("exclude=id,code").records(listing(&["dc_K0uAee", "dc_2"]), |v| v)).await;
        let page_info = json!({ "total_count": 19, "count": 2, "start_cursor": "ZGNfSzB1QWVl", "end_cursor": "ZGNfMg" });
        assert_eq!(
            shown,
            json!({ "page_info": page_info, "data": [{ "name": "n" }, { "name": "n" }] })
        );
        let none = body(fields("include=id, name").records(listing(&[]), |v| v)).await;
        assert_eq!(
            none,
            json!({ "page_info": { "total_count": 19, "count": 0, "start_cursor": null, "end_cursor": null }, "data": [] })
        );
        let one = body(fields("include=id&exclude=").data(json!({ "id": 1, "name": 2 }))).await;
        assert_eq!(one, json!({ "data": { "id": 1 } }));
        assert_eq!(
            body(fields("include=").data(json!({ "id": 1 }))).await,
            json!({ "data": { "id": 1 } })
        );
    }
}
