//! Rows of organizations, users, keys, apps and accounts, the same in each engine.

/// Functions that read them. `$Row`: a row of the engine, whose module has `corrupt`, `get`,
/// `json`, `time`.
#[macro_export]
macro_rules! tenant_rows {
    ($Row:ty) => {
        use ::millrace_model::account::{Account, App, Connection};
        use ::millrace_model::clock::Timestamp;
        use ::millrace_model::ids::{
            AccountId, ApiKeyId, AppId, ConnectionId, DataKeyId, OrgId, ProjectId, UserId,
        };
        use ::millrace_model::tenant::{ApiKey, Organization, Scopes, User};
        use $crate::{DataKey, StoreResult};

        pub(crate) fn organization(row: &$Row) -> StoreResult<Organization> {
            Ok(Organization {
                id: OrgId::from_row(get(row, "id")?),
                name: get(row, "name")?,
                orgname: get(row, "orgname")?,
                email: get(row, "email")?,
                error_recipients: json(row, "error_recipients")?,
                project_id: ProjectId::from_row(get(row, "project_id")?),
                created_at: time(row, "created_at")?,
            })
        }

        pub(crate) fn user(row: &$Row) -> StoreResult<User> {
            Ok(User {
                id: UserId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                username: get(row, "username")?,
                email: get(row, "email")?,
                created_at: time(row, "created_at")?,
            })
        }

        pub(crate) fn scopes(row: &$Row) -> StoreResult<Scopes> {
            let parsed = Scopes::parse(&get::<String>(row, "scopes")?);
            parsed.ok().flatten().ok_or_else(|| corrupt("scopes"))
        }

        pub(crate) fn api_key(row: &$Row) -> StoreResult<ApiKey> {
            let old = get::<Option<String>>(row, "old_key_hash")?
                .zip(get::<Option<i64>>(row, "old_until")?.map(Timestamp));
            Ok(ApiKey {
                id: ApiKeyId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                user_id: UserId::from_row(get(row, "user_id")?),
                name: get(row, "name")?,
                key_hash: get(row, "key_hash")?,
                scopes: scopes(row)?,
                rate_per_minute: get::<Option<i64>>(row, "rate_per_minute")?
                    .and_then(|rate| u32::try_from(rate).ok()),
                expires_at: get::<Option<i64>>(row, "expires_at")?.map(Timestamp),
                old,
                created_at: time(row, "created_at")?,
            })
        }

        pub(crate) fn app(row: &$Row) -> StoreResult<App> {
            Ok(App {
                id: AppId::from_row(get(row, "id")?),
                org_id: Some(OrgId::from_row(get(row, "org_id")?)),
                name_slug: get(row, "name_slug")?,
                definition: json(row, "definition")?,
                created_at: time(row, "created_at")?,
                updated_at: time(row, "updated_at")?,
            })
        }

        pub(crate) fn account(row: &$Row) -> StoreResult<Account> {
            Ok(Account {
                id: AccountId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                app: get(row, "app")?,
                name: get(row, "name")?,
                credentials: get(row, "credentials")?,
                healthy: get(row, "healthy")?,
                problem: get(row, "problem")?,
                expires_at: get::<Option<i64>>(row, "expires_at")?.map(Timestamp),
                version: get(row, "version")?,
                external_user_id: get(row, "external_user_id")?,
                created_at: time(row, "created_at")?,
                updated_at: time(row, "updated_at")?,
            })
        }

        pub(crate) fn connection(row: &$Row) -> StoreResult<Connection> {
            Ok(Connection {
                id: ConnectionId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                app: get(row, "app")?,
                external_user_id: get(row, "external_user_id")?,
                state: json(row, "state")?,
                created_at: time(row, "created_at")?,
                expires_at: time(row, "expires_at")?,
            })
        }

        pub(crate) fn data_key(row: &$Row) -> StoreResult<DataKey> {
            Ok(DataKey {
                id: DataKeyId::from_row(get(row, "id")?),
                master_id: get(row, "master_id")?,
                wrapped: get(row, "wrapped")?,
                created_at: time(row, "created_at")?,
            })
        }
    };
}
