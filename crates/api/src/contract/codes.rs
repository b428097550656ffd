//! Every `code` that a refusal of the API may have. `docs/reference/errors.md` explains each; a
//! test holds the two together.

use std::collections::BTreeMap;

use millrace_model::tenant::Scope;
use schemars::JsonSchema;
use serde_json::Value;

use crate::contract::schemas::JsonOut;
use crate::contract::shape::record;

/// In the order of the alphabet.
pub(crate) const CODES: &[&str] = &[
    "additional_props_failed",
    "app_hook_failed",
    "body_too_slow",
    "bundle_failed",
    "bundle_out_of_memory",
    "bundle_timeout",
    "changed_meanwhile",
    "component_does_not_load",
    "component_too_large",
    "csrf_header_missing",
    "damaged_data",
    "database_unavailable",
    "deploys_waiting",
    "draft_changed",
    "email_domain_not_allowed",
    "email_not_verified",
    "email_of_another",
    "export_too_slow",
    "export_under_way",
    "fetch_failed",
    "files_full",
    "forbidden",
    "foreign_page",
    "gone",
    "hook_failed",
    "host_missing",
    "import_not_found",
    "import_outside",
    "import_unsupported",
    "in_use",
    "internal",
    "invalid_archive",
    "invalid_component",
    "invalid_field",
    "invalid_props",
    "invalid_schedule",
    "invalid_state",
    "last_owner",
    "malformed_encoding",
    "malformed_form",
    "malformed_json",
    "member_already",
    "method_not_allowed",
    "missing_field",
    "missing_props",
    "native_package",
    "no_mail_server",
    "no_matching_version",
    "no_oauth_client",
    "no_other_master_key",
    "no_process",
    "no_provider",
    "no_such_route",
    "no_such_version",
    "node_too_old",
    "not_a_host",
    "not_a_path",
    "not_a_source",
    "not_an_action",
    "not_deployed",
    "not_found",
    "not_invited",
    "not_kept",
    "not_the_api",
    "overloaded",
    "own_key",
    "package_integrity",
    "package_not_found",
    "package_unpackable",
    "provider_refused",
    "queue_full",
    "quota_exceeded",
    "read_only_field",
    "record_changed",
    "registry_exists",
    "registry_unreachable",
    "replay_has_ended",
    "run_has_ended",
    "run_is_not_paused",
    "run_is_running",
    "scope_missing",
    "several_hosts",
    "state_expired",
    "storage_full",
    "syntax_error",
    "taken",
    "too_large",
    "too_many_clients",
    "too_many_domains",
    "too_many_keys",
    "too_many_members",
    "too_many_requests",
    "too_many_webhooks",
    "too_many_wrong_keys",
    "too_many_wrong_passwords",
    "unauthorized",
    "unknown_cursor",
    "unknown_field",
    "unreadable_body",
    "unsendable_headers",
    "unsendable_status",
    "unsupported_encoding",
    "wrong_password",
];

/// What a program may read of a refusal, by its code: `field` is the path of the field that is
/// wrong (`triggers[0].id`), `allowed` what it may be; other members are the code's own.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the shape of what errors hold as JSON")]
pub(crate) struct ErrorDetailsOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<Vec<String>>,
    /// Whole seconds, as in the header `Retry-After`
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    /// Scopes, one of which a caller lacks
    #[serde(skip_serializing_if = "Option::is_none")]
    needed: Option<Scope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has: Option<Vec<Scope>>,
    /// The kind of thing that is not there, and the id
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Names the request in the server's log
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    #[serde(flatten)]
    others: BTreeMap<String, JsonOut>,
}

record! {
    /// A refusal
    ErrorOut<'a>(message: &'a str, code: &'a str, details: &'a Value) {
        error: &'a str = message,
        #[schemars(extend("enum" = CODES))]
        code: &'a str = code,
        #[schemars(with = "ErrorDetailsOut")]
        details: &'a Value = details,
    }
}

/// Whether a refusal may have this code.
pub(crate) fn is_known(code: &str) -> bool {
    CODES.binary_search(&code).is_ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_in_order_for_the_search() {
        assert!(CODES.is_sorted(), "sort the list");
    }

    #[test]
    fn the_page_of_error_codes_explains_each_and_no_other() {
        let page = include_str!("../../../../docs/reference/errors.md");
        let (page, _) = page.split_once("## Errors of runs").expect("the page has its second part");
        let rows = page
            .lines()
            .filter(|line| line.starts_with("| "))
            .filter_map(|line| line.split('|').nth(2));
        let explained: BTreeSet<&str> =
            rows.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        assert_eq!(explained, CODES.iter().copied().collect());
    }
}
