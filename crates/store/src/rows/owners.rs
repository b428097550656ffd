//! Rows of sources, workflows, their interfaces and subscriptions, the same in each engine.

/// Functions that read them. `$Row`: a row of the engine, whose module has `get`, `json`,
/// `optional_json`, `time`.
#[macro_export]
macro_rules! owner_rows {
    ($Row:ty) => {
        use ::millrace_model::domain::EndpointDomain;
        use ::millrace_model::ids::{
            AutoSubscriptionId, ComponentId, DeploymentId, HttpInterfaceId, OrgId, ProjectId,
            SourceId, SubscriptionId, TimerId, UserId, WorkflowId,
        };
        use ::millrace_model::source::{
            AppHook, HttpInterface, Owner, Source, SourceDeployment, Timer,
        };
        use ::millrace_model::subscription::{AutoSubscription, ListedSubscription, Subscription};
        use ::millrace_model::workflow::{Author, Deployment, Drafted, Workflow};
        use $crate::StoreResult;

        pub(crate) fn source(row: &$Row) -> StoreResult<Source> {
            Ok(Source {
                id: SourceId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                user_id: UserId::from_row(get(row, "user_id")?),
                component_id: ComponentId::from_row(get(row, "component_id")?),
                name: get(row, "name")?,
                name_slug: get(row, "name_slug")?,
                dynamic_props: optional_json(row, "dynamic_props")?,
                made_from: optional_json(row, "made_from")?,
                deployment_id: get::<Option<String>>(row, "deployment_id")?
                    .map(DeploymentId::from_row),
                settings: json(row, "settings")?,
                limits: optional_json(row, "limits")?,
                external_user_id: get(row, "external_user_id")?,
                configured_props: json(row, "configured_props")?,
                active: get(row, "active")?,
                inactive_reason: get(row, "inactive_reason")?,
                created_at: time(row, "created_at")?,
                updated_at: time(row, "updated_at")?,
            })
        }

        pub(crate) fn http_interface(row: &$Row) -> StoreResult<HttpInterface> {
            Ok(HttpInterface {
                id: HttpInterfaceId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                owner: Owner::from_row(get(row, "owner_id")?),
                key: get(row, "key")?,
                custom_response: get(row, "custom_response")?,
                active: get(row, "active")?,
            })
        }

        pub(crate) fn endpoint_domain(row: &$Row) -> StoreResult<EndpointDomain> {
            Ok(EndpointDomain {
                id: get(row, "id")?,
                org_id: OrgId::from_row(get(row, "org_id")?),
                endpoint_id: HttpInterfaceId::from_row(get(row, "endpoint_id")?),
                created_at: time(row, "created_at")?,
            })
        }

        pub(crate) fn timer(row: &$Row) -> StoreResult<Timer> {
            Ok(Timer {
                id: TimerId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                owner: Owner::from_row(get(row, "owner_id")?),
                schedule: json(row, "schedule")?,
                next_at: time(row, "next_at")?,
                active: get(row, "active")?,
            })
        }

        pub(super) fn author(id: Option<String>, name: Option<String>) -> Option<Author> {
            id.map(|id| Author { id: UserId::from_row(id), name })
        }

        pub(crate) fn workflow(row: &$Row) -> StoreResult<Workflow> {
            Ok(Workflow {
                id: WorkflowId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                project_id: ProjectId::from_row(get(row, "project_id")?),
                name: get(row, "name")?,
                name_slug: get(row, "name_slug")?,
                active: get(row, "active")?,
                draft: json(row, "draft")?,
                drafted: Drafted {
                    revision: get(row, "revision")?,
                    is_changed: get(row, "is_changed")?,
                    at: time(row, "draft_at")?,
                    by: author(get(row, "draft_by")?, get(row, "author")?),
                },
                deployment_id: get::<Option<String>>(row, "deployment_id")?
                    .map(DeploymentId::from_row),
                made_from: optional_json(row, "made_from")?,
                note: get(row, "note")?,
                tags: json(row, "tags")?,
                created_at: time(row, "created_at")?,
                updated_at: time(row, "updated_at")?,
            })
        }

        pub(crate) fn deployment(row: &$Row) -> StoreResult<Deployment> {
            Ok(Deployment {
                id: DeploymentId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                workflow_id: WorkflowId::from_row(get(row, "workflow_id")?),
                version: get(row, "version")?,
                content: json(row, "content")?,
                made_by: author(get(row, "made_by")?, get(row, "author")?),
                message: get(row, "message")?,
                created_at: time(row, "created_at")?,
            })
        }

        pub(crate) fn source_deployment(row: &$Row) -> StoreResult<SourceDeployment> {
            Ok(SourceDeployment {
                id: DeploymentId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                source_id: SourceId::from_row(get(row, "source_id")?),
                version: get(row, "version")?,
                content: json(row, "content")?,
                made_by: author(get(row, "made_by")?, get(row, "author")?),
                message: get(row, "message")?,
                created_at: time(row, "created_at")?,
            })
        }

        pub(crate) fn subscription(row: &$Row) -> StoreResult<Subscription> {
            Ok(Subscription {
                id: SubscriptionId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                emitter_id: get(row, "emitter_id")?,
                listener_id: get(row, "listener_id")?,
                event_name: get(row, "event_name")?,
                from_trigger: get(row, "from_trigger")?,
                created_at: time(row, "created_at")?,
            })
        }

        pub(crate) fn listed_subscription(row: &$Row) -> StoreResult<ListedSubscription> {
            Ok(ListedSubscription {
                subscription: subscription(row)?,
                emitter_name: get(row, "emitter_name")?,
                listener_name: get(row, "listener_name")?,
            })
        }

        pub(crate) fn auto_subscription(row: &$Row) -> StoreResult<AutoSubscription> {
            Ok(AutoSubscription {
                id: AutoSubscriptionId::from_row(get(row, "id")?),
                org_id: OrgId::from_row(get(row, "org_id")?),
                listener_id: get(row, "listener_id")?,
                event_name: get(row, "event_name")?,
                created_at: time(row, "created_at")?,
            })
        }

        pub(crate) fn app_hook(row: &$Row) -> StoreResult<AppHook> {
            Ok(AppHook {
                org_id: OrgId::from_row(get(row, "org_id")?),
                owner: Owner::from_row(get(row, "owner_id")?),
                app: get(row, "app")?,
                event_name: get(row, "event_name")?,
                active: get(row, "active")?,
            })
        }
    };
}
