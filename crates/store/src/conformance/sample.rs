//! Records to test with. Each has an id of its own; times count from [`NOW`].

use std::fmt::Debug;
use std::sync::{Arc, LazyLock};

use millrace_model::component::{
    Artifact, CodeFiles, ComponentType, Hook, Manifest, PropDef, Responds, SavedComponent,
};
use millrace_model::event::Event;
use millrace_model::ids::*;
use millrace_model::made_from::MadeFrom;
use millrace_model::run::{LogLevel, LogLine, NewRun, Run, RunKind, RunStatus, Start};
use millrace_model::schedule::Schedule;
use millrace_model::source::{HttpInterface, Owner, Source, Timer};
use millrace_model::subscription::Subscription;
use millrace_model::tenant::{ApiKey, Organization, Scopes, User};
use millrace_model::workflow::{Deployment, Drafted, Settings, Trigger, Workflow, WorkflowVersion};
use millrace_model::{IdSource, Timestamp};
use serde_json::json;

use super::Database;
use crate::{
    Claim, Effects, Interfaces, Leftovers, Mail, MailStatus, NewDeployment, NewTenant, Notice,
    Pruning, Settlement, Store,
};

pub(super) const NOW: Timestamp = Timestamp(1_767_225_600_000);
pub(super) const LEASE_MS: i64 = 30_000;
pub(super) const DAY_MS: i64 = 24 * 3600 * 1000;
pub(super) const NODE: &str = "node_a";

pub(super) static IDS: LazyLock<IdSource> = LazyLock::new(IdSource::default);

pub(super) fn at(ms: i64) -> Timestamp {
    NOW.plus_ms(ms)
}

/// Lets a store open what it opens when it is needed, so that calls at once do meet.
pub(super) async fn ready(store: &dyn Store) {
    let (a, b, c) = tokio::join!(store.ping(), store.ping(), store.ping());
    a.and(b).and(c).expect("answers");
}

/// Records are compared by what they show, as not all of them can be compared.
#[track_caller]
pub(super) fn same(got: &impl Debug, expected: &impl Debug) {
    assert_eq!(format!("{got:#?}"), format!("{expected:#?}"));
}

pub(super) fn tenant(orgname: &str) -> NewTenant {
    let (org_id, user_id) = (OrgId::generate(&IDS), UserId::generate(&IDS));
    NewTenant {
        organization: Organization {
            id: org_id.clone(),
            name: format!("{orgname} & Söhne"),
            orgname: orgname.to_owned(),
            email: format!("{orgname}@example.test"),
            error_recipients: Vec::new(),
            project_id: ProjectId::generate(&IDS),
            created_at: NOW,
        },
        user: User {
            id: user_id.clone(),
            org_id: org_id.clone(),
            username: format!("{orgname}-owner"),
            email: format!("owner@{orgname}.test"),
            created_at: NOW,
        },
        key: api_key(org_id, user_id, "first"),
    }
}

fn api_key(org_id: OrgId, user_id: UserId, name: &str) -> ApiKey {
    ApiKey {
        id: ApiKeyId::generate(&IDS),
        org_id,
        user_id,
        name: name.to_owned(),
        key_hash: IDS.base62(64),
        scopes: Scopes::full(),
        rate_per_minute: None,
        expires_at: None,
        old: None,
        created_at: NOW,
    }
}

/// An organization in a store, and records of it.
pub(super) struct Org {
    pub(super) store: Arc<dyn Store>,
    pub(super) id: OrgId,
    pub(super) user: UserId,
    pub(super) project: ProjectId,
}

impl Org {
    /// The first organization of a database that is opened for it.
    pub(super) async fn first(database: &dyn Database) -> Self {
        Self::another(&database.open().await, "first").await
    }

    pub(super) async fn another(store: &Arc<dyn Store>, orgname: &str) -> Self {
        let tenant = tenant(orgname);
        let org = Self {
            store: store.clone(),
            id: tenant.organization.id.clone(),
            user: tenant.user.id.clone(),
            project: tenant.organization.project_id.clone(),
        };
        store.create_organization(tenant).await.expect("an organization");
        org
    }

    pub(super) fn api_key(&self) -> ApiKey {
        api_key(self.id.clone(), self.user.clone(), "second")
    }

    /// A component, published where it has a key.
    pub(super) fn component(
        &self,
        key: Option<&str>,
        artifact: &Artifact,
        ms: i64,
    ) -> SavedComponent {
        SavedComponent {
            id: ComponentId::generate(&IDS),
            org_id: self.id.clone(),
            code: "export default { name: 'ü\u{0}' };".into(),
            code_hash: IDS.base62(64),
            files: Some(CodeFiles {
                entry: "a.mjs".into(),
                others: [("lib/ü.mjs".into(), "export default '\u{0}';".into())].into(),
            }),
            url: Some("https://example.test/a.mjs".into()),
            registry: Some(super::registries::state("ours", ms)),
            component_type: ComponentType::Action,
            manifest: Manifest {
                name: Some("Sample".into()),
                key: key.map(str::to_owned),
                hooks: vec![Hook::Deploy],
                has_run: true,
                props: vec![PropDef {
                    name: "url".into(),
                    prop_type: "string".into(),
                    default: Some(json!({ "b": 1, "a": [null] })),
                    ..PropDef::default()
                }],
                ..Manifest::default()
            },
            artifact_id: artifact.id.clone(),
            published: key.is_some(),
            created_at: at(ms),
            updated_at: at(ms + 1),
        }
    }

    pub(super) async fn add_component(&self, key: Option<&str>, ms: i64) -> SavedComponent {
        let artifact = artifact();
        self.store.put_artifact(artifact.clone()).await.expect("an artifact");
        let component = self.component(key, &artifact, ms);
        self.store.create_component(component.clone()).await.expect("a component");
        component
    }

    pub(super) fn source(&self, component: &SavedComponent, slug: &str, ms: i64) -> Source {
        let props = json!({ "z": 1, "a": { "text": "ü \u{1F600}" }, "secret": null });
        Source {
            id: SourceId::generate(&IDS),
            org_id: self.id.clone(),
            user_id: self.user.clone(),
            component_id: component.id.clone(),
            name: format!("The {slug}"),
            name_slug: slug.to_owned(),
            external_user_id: None,
            dynamic_props: None,
            deployment_id: None,
            configured_props: props.as_object().cloned().unwrap_or_default(),
            active: true,
            inactive_reason: None,
            settings: millrace_model::source::SourceSettings::default(),
            limits: None,
            made_from: None,
            created_at: at(ms),
            updated_at: at(ms),
        }
    }

    /// An active source with a component of its own.
    pub(super) async fn add_source(&self, slug: &str) -> Source {
        let source = self.source(&self.add_component(None, 0).await, slug, 0);
        self.store.create_source(source.clone(), Interfaces::default()).await.expect("a source");
        source
    }

    /// A source with these values of its props.
    pub(super) async fn add_source_with(&self, slug: &str, props: serde_json::Value) -> Source {
        let configured_props = props.as_object().cloned().unwrap_or_default();
        let source =
            Source { configured_props, ..self.source(&self.add_component(None, 0).await, slug, 0) };
        self.store.create_source(source.clone(), Interfaces::default()).await.expect("a source");
        source
    }

    pub(super) fn workflow(&self, slug: &str, ms: i64) -> Workflow {
        Workflow {
            id: WorkflowId::generate(&IDS),
            org_id: self.id.clone(),
            project_id: self.project.clone(),
            name: format!("The {slug}"),
            name_slug: slug.to_owned(),
            active: false,
            draft: version(7),
            drafted: Drafted { revision: 1, is_changed: true, at: at(ms), by: None },
            deployment_id: None,
            made_from: None,
            note: Some("ü".into()),
            tags: vec!["a".into()],
            created_at: at(ms),
            updated_at: at(ms),
        }
    }

    /// A workflow that was never deployed.
    pub(super) async fn add_workflow(&self, slug: &str) -> Workflow {
        let workflow = self.workflow(slug, 0);
        self.store.create_workflow(workflow.clone()).await.expect("a workflow");
        workflow
    }

    pub(super) fn deployment(&self, workflow: &WorkflowId, ms: i64) -> NewDeployment {
        let deployment = Deployment {
            id: DeploymentId::generate(&IDS),
            org_id: self.id.clone(),
            workflow_id: workflow.clone(),
            version: 0,
            content: version(u32::try_from(ms).unwrap_or(0)),
            made_by: None,
            message: None,
            created_at: at(ms),
        };
        NewDeployment {
            deployment,
            active: true,
            interfaces: Interfaces::default(),
            subscriptions: Vec::new(),
            limits: None,
        }
    }

    pub(super) fn http(&self, owner: &Owner, key: &str) -> HttpInterface {
        HttpInterface {
            id: HttpInterfaceId::generate(&IDS),
            org_id: self.id.clone(),
            owner: owner.clone(),
            key: key.to_owned(),
            custom_response: true,
            active: true,
        }
    }

    pub(super) fn timer(&self, owner: &Owner, next_ms: i64) -> Timer {
        Timer {
            id: TimerId::generate(&IDS),
            org_id: self.id.clone(),
            owner: owner.clone(),
            schedule: Schedule::Cron {
                cron: "*/5 * * * *".into(),
                timezone: "Europe/Berlin".into(),
            },
            next_at: at(next_ms),
            active: true,
        }
    }

    pub(super) fn subscription(
        &self,
        emitter: &str,
        listener: &str,
        event_name: &str,
    ) -> Subscription {
        Subscription {
            id: SubscriptionId::generate(&IDS),
            org_id: self.id.clone(),
            emitter_id: emitter.to_owned(),
            listener_id: listener.to_owned(),
            event_name: event_name.to_owned(),
            from_trigger: false,
            created_at: NOW,
        }
    }

    /// A run that waits in the queue.
    pub(super) fn run(&self, owner: &Owner, ms: i64) -> NewRun {
        NewRun {
            id: RunId::at(&IDS, at(ms)),
            org_id: self.id.clone(),
            owner: owner.clone(),
            deployment_id: None,
            kind: RunKind::Live,
            trigger_id: String::new(),
            event: r#"{"b":1,"a":"\u0000"}"#.into(),
            context: r#"{"id":"x"}"#.into(),
            created_at: at(ms),
            start: Start::Queued,
            result: None,
            replays: None,
        }
    }

    pub(super) async fn accept(&self, owner: &Owner, ms: i64) -> RunId {
        let run = self.run(owner, ms);
        let id = run.id.clone();
        self.store.accept(run, NODE).await.expect("accepted");
        id
    }

    /// A run under way: attempt 1, leased until `ms + LEASE_MS`.
    pub(super) async fn start(&self, owner: &Owner, ms: i64) -> RunId {
        let run = NewRun {
            start: Start::Claimed { lease_until: at(ms + LEASE_MS) },
            ..self.run(owner, ms)
        };
        let id = run.id.clone();
        self.store.accept(run, NODE).await.expect("accepted");
        id
    }

    pub(super) async fn claim(&self, node: &str, ms: i64, limit: u32) -> Vec<Run> {
        self.claim_behind("", &[], node, ms, limit).await
    }

    /// As `claim`, with the owner whose turn was last and those that are passed over.
    pub async fn claim_behind(
        &self,
        after: &str,
        passed_over: &[String],
        node: &str,
        ms: i64,
        limit: u32,
    ) -> Vec<Run> {
        self.store
            .claim(Claim {
                node,
                now: at(ms),
                lease_until: at(ms + LEASE_MS),
                limit,
                after,
                passed_over,
            })
            .await
            .expect("claims")
    }

    pub(super) async fn stored(&self, id: &RunId) -> Run {
        self.store.run(&self.id, id).await.expect("reads").expect("the run")
    }

    /// An event of a stream, `seq` of the millisecond `ms`.
    pub(super) fn event(&self, emitter: &str, name: &str, ms: i64, seq: i64) -> Event {
        Event {
            id: event_id(ms, seq),
            org_id: self.id.clone(),
            emitter_id: emitter.to_owned(),
            name: name.to_owned(),
            emit_id: IDS.ksuid(at(ms)),
            payload: format!(r#"{{"ms":{ms},"seq":{seq}}}"#),
            metadata: r#"{"summary":"ü"}"#.into(),
        }
    }

    /// Stores events as a hook leaves them.
    pub(super) async fn emit(&self, events: Vec<Event>) {
        self.store.settle_effects(Effects { events, ..Effects::default() }).await.expect("settles");
    }

    pub(super) fn mail(&self, ms: i64) -> Mail {
        Mail {
            id: MailId::generate(&IDS),
            org_id: self.id.clone(),
            recipient: "owner@example.test".into(),
            subject: format!("at {ms}"),
            text: "line\n\nline ü".into(),
            link: None,
            html: None,
            status: MailStatus::Queued,
            attempts: 0,
            last_error: None,
            created_at: at(ms),
        }
    }

    pub(super) fn notice(&self, owner: &str, class: &str, ms: i64) -> Notice {
        Notice {
            owner: owner.to_owned(),
            class: class.to_owned(),
            at: at(ms),
            unless_since: at(ms - DAY_MS),
            group: None,
            mails: vec![self.mail(ms)],
        }
    }

    /// Tells of an error; says whether a mail was queued for it.
    pub(super) async fn notify(&self, owner: &str, class: &str, ms: i64) -> bool {
        let notice = self.notice(owner, class, ms);
        let id = notice.mails[0].id.clone();
        self.store
            .settle_effects(Effects { notice: Some(notice), ..Effects::default() })
            .await
            .expect("settles");
        self.mails().await.iter().any(|m| m.id == id)
    }

    /// Queues a mail.
    pub(super) async fn add_mail(&self, ms: i64) -> Mail {
        let notice = self.notice(&IDS.base62(8), "Error", ms);
        let mail = notice.mails[0].clone();
        self.store
            .settle_effects(Effects { notice: Some(notice), ..Effects::default() })
            .await
            .expect("settles");
        mail
    }

    pub(super) async fn mails(&self) -> Vec<Mail> {
        self.store.list_mail(&self.id, &page(100)).await.expect("lists").items
    }

    /// Prunes what is older, in every owner and beside: one step of each.
    pub(super) async fn prune(&self, before: Timestamp, limit: u32) -> u64 {
        let mut gone = 0;
        for owner in self.store.history_owners("", 1000).await.expect("lists") {
            let step = Pruning { owner, before: Some(before), keep_count: None, limit };
            gone += self.store.prune(step).await.expect("prunes");
        }
        let leftovers =
            Leftovers { before: Some(before), audit_before: Some(before), now: before, limit };
        gone + self.store.prune_leftovers(leftovers).await.expect("prunes")
    }

    pub(super) async fn events(&self, emitter: &str) -> Vec<Event> {
        self.store
            .events_after(&self.id, emitter, EventId { ms: 0, seq: 0 }, 1000)
            .await
            .expect("reads")
    }
}

/// The end of a run that went well and left nothing.
pub fn settlement(id: &RunId, attempt: i64, ms: i64) -> Settlement {
    Settlement {
        run_id: id.clone(),
        attempt,
        status: RunStatus::Succeeded,
        finished_at: at(ms),
        result: r#"{"steps":[],"duration_ms":1}"#.into(),
        error: None,
        group: None,
        forget: None,
        unstored: None,
        effects: Effects::default(),
    }
}

pub(super) fn artifact() -> Artifact {
    Artifact {
        id: IDS.base62(64),
        code: "export default 'ü\u{0}';".into(),
        source_map: Some(r#"{"version":3}"#.into()),
        lock: "{}".into(),
        responds: Responds::Surely,
    }
}

pub(super) fn version(memory_mb: u32) -> WorkflowVersion {
    let trigger = Trigger::Http {
        id: HttpInterfaceId::generate(&IDS),
        key: "enx".into(),
        custom_response: false,
        asked: None,
        may_respond: false,
        auth: None,
    };
    WorkflowVersion {
        triggers: vec![trigger],
        steps: Vec::new(),
        settings: Settings { memory_mb: Some(memory_mb), ..Settings::default() },
    }
}

pub(super) fn event_id(ms: i64, seq: i64) -> EventId {
    EventId { ms: at(ms).ms(), seq }
}

pub(super) fn log(ms: i64, text: &str) -> LogLine {
    LogLine { at: at(ms), level: LogLevel::Warn, text: text.to_owned(), step: None }
}

pub(super) fn page(limit: u32) -> millrace_model::page::Page {
    millrace_model::page::Page { limit, ..Default::default() }
}

/// A mark of a workflow or source that was made from a file.
pub(super) fn made_from() -> MadeFrom {
    MadeFrom {
        project: "shop".into(),
        path: "workflows/ü".into(),
        fingerprints: [("code".into(), "ab12".into())].into(),
    }
}
