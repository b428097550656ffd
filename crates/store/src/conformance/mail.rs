//! The outbox, and the notices of errors that fill it.

use std::collections::HashSet;

use millrace_model::error_event::{ErrorGroupChange, ErrorState};
use millrace_model::run::RunStatus;
use millrace_model::source::Owner;

use super::Database;
use super::sample::{DAY_MS, Org, at, page, settlement};
use crate::{Effects, Mail, MailResult, MailStatus, Notice, Settlement};

async fn claim(org: &Org, ms: i64, retry_ms: i64, limit: u32) -> Vec<Mail> {
    org.store.claim_mail(at(ms), at(retry_ms), limit, None).await.expect("claims")
}

pub async fn a_claimed_mail_is_hidden_until_it_is_tried_again(database: &dyn Database) {
    let org = Org::first(database).await;
    assert!(claim(&org, 0, 60, 10).await.is_empty());
    let (third, second, first) =
        (org.add_mail(30).await, org.add_mail(20).await, org.add_mail(10).await);
    assert!(claim(&org, 9, 60, 10).await.is_empty());
    let mut claimed = claim(&org, 30, 1_000, 2).await;
    claimed.sort_by_key(|mail| mail.created_at);
    assert_eq!(claimed, [first.clone(), second.clone()]);
    assert_eq!(claim(&org, 31, 1_000, 10).await, [third]);
    assert!(claim(&org, 999, 2_000, 10).await.is_empty());
    assert_eq!(claim(&org, 1_000, 2_000, 10).await.len(), 3);
    assert!(claim(&org, 1_001, 2_000, 10).await.is_empty());
}

pub async fn claims_at_once_share_the_outbox(database: &dyn Database) {
    let org = Org::first(database).await;
    for ms in 0..12 {
        org.add_mail(ms).await;
    }
    let (a, b, c) =
        tokio::join!(claim(&org, 50, 100, 12), claim(&org, 50, 100, 12), claim(&org, 50, 100, 12));
    let claimed: Vec<String> =
        [a, b, c].into_iter().flatten().map(|mail| mail.id.to_string()).collect();
    assert_eq!((claimed.len(), claimed.iter().collect::<HashSet<_>>().len()), (12, 12));
}

pub async fn organizations_take_turns_in_the_outbox(database: &dyn Database) {
    let busy = Org::first(database).await;
    for ms in 0..12 {
        busy.add_mail(ms).await;
    }
    let (calm, third) =
        (Org::another(&busy.store, "calm").await, Org::another(&busy.store, "third").await);
    let (own, other, _later) =
        (calm.add_mail(20).await, third.add_mail(30).await, third.add_mail(99).await);
    let claimed = claim(&busy, 50, 100, 4).await;
    assert!(
        claimed.len() == 4 && claimed.contains(&own) && claimed.contains(&other),
        "{claimed:?}"
    );
    assert_eq!(claim(&busy, 50, 100, 9).await.len(), 9);
    assert_eq!(claim(&busy, 50, 100, 9).await.len(), 1);
}

pub async fn each_mail_is_of_the_organization_after_the_one_before(database: &dyn Database) {
    let busy = Org::first(database).await;
    for ms in 0..9 {
        busy.add_mail(ms).await;
    }
    let (calm, third) =
        (Org::another(&busy.store, "calm").await, Org::another(&busy.store, "third").await);
    for (org, ms) in [(&calm, 20), (&third, 30), (&calm, 40)] {
        org.add_mail(ms).await;
    }
    let (mut turns, mut after) = (Vec::new(), None);
    while let Some(mail) =
        busy.store.claim_mail(at(50), at(100), 1, after.as_ref()).await.expect("claims").pop()
    {
        turns.push((mail.org_id.clone(), mail.created_at));
        after = Some(mail.org_id);
    }
    let mut orgs = [&busy.id, &calm.id, &third.id];
    orgs.sort();
    assert!(
        turns.len() == 12 && turns[..3].iter().map(|(org, _)| org).eq(orgs),
        "one of each: {turns:?}"
    );
    let of = |org: &Org| {
        turns
            .iter()
            .enumerate()
            .filter(|(_, (id, _))| *id == org.id)
            .map(|(n, (_, at))| (n, *at))
            .collect::<Vec<_>>()
    };
    let ([first, second], [only]) =
        (of(&calm)[..].try_into().expect("two"), of(&third)[..].try_into().expect("one"));
    assert!(
        first.1 == at(20) && second == (second.0, at(40)) && second.0 < 6 && only.0 < 3,
        "{turns:?}"
    );
    assert!(of(&busy).is_sorted_by_key(|(_, at)| *at), "the longest due first: {turns:?}");
}

pub async fn what_became_of_a_mail_is_recorded(database: &dyn Database) {
    let org = Org::first(database).await;
    let (sent, failed) = (org.add_mail(0).await, org.add_mail(1).await);
    assert_eq!(claim(&org, 10, 20, 10).await.len(), 2);
    for mail in [&sent, &failed] {
        org.store
            .mail_result(&mail.id, MailResult::Retry { at: at(500), error: "greylisted".into() })
            .await
            .expect("records");
    }
    assert!(claim(&org, 499, 600, 10).await.is_empty());
    let again = claim(&org, 500, 600, 10).await;
    assert_eq!(again.len(), 2);
    assert!(
        again.iter().all(|m| m.attempts == 1
            && m.last_error.as_deref() == Some("greylisted")
            && m.status == MailStatus::Queued),
        "{again:?}"
    );
    org.store.mail_result(&sent.id, MailResult::Sent).await.expect("records");
    org.store
        .mail_result(&failed.id, MailResult::Failed { error: "no such user\u{0}".into() })
        .await
        .expect("records");
    // What another server finds later, which took it over while this one stood still, changes
    // nothing.
    for mail in [&sent, &failed] {
        org.store
            .mail_result(&mail.id, MailResult::Retry { at: at(600), error: "late".into() })
            .await
            .expect("records");
    }
    org.store
        .mail_result(&sent.id, MailResult::Failed { error: "late".into() })
        .await
        .expect("records");
    assert!(claim(&org, 9_000, 9_999, 10).await.is_empty());
    let [failed_now, sent_now] = <[Mail; 2]>::try_from(org.mails().await).expect("two mails");
    assert_eq!(sent_now, Mail { status: MailStatus::Sent, attempts: 2, last_error: None, ..sent });
    assert_eq!((failed_now.status, failed_now.attempts), (MailStatus::Failed, 2));
    assert!(failed_now.last_error.is_some_and(|error| error.starts_with("no such user")));
}

pub async fn mails_are_listed_for_their_organization(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let (first, second, theirs) =
        (org.add_mail(0).await, org.add_mail(1).await, other.add_mail(2).await);
    assert_eq!(org.mails().await, [second, first]);
    assert_eq!(other.mails().await, [theirs]);
}

pub async fn one_notice_for_a_class_and_owner(database: &dyn Database) {
    let org = Org::first(database).await;
    assert!(org.notify("p_a", "TypeError", 0).await);
    assert!(!org.notify("p_a", "TypeError", 0).await);
    assert!(!org.notify("p_a", "TypeError", 1_000).await);
    assert!(org.notify("p_a", "RangeError", 1_000).await);
    assert!(org.notify("p_b", "TypeError", 1_000).await);
    assert!(!org.notify("p_b", "TypeError", 2_000).await);
    assert_eq!(org.mails().await.len(), 3);
}

pub async fn the_window_of_notices_has_an_exact_edge(database: &dyn Database) {
    let org = Org::first(database).await;
    assert!(org.notify("p_a", "TypeError", 0).await);
    assert!(!org.notify("p_a", "TypeError", DAY_MS - 1).await);
    assert!(org.notify("p_a", "TypeError", DAY_MS).await);
    // The window counts from the last mail, not from the last error or the first mail.
    assert!(!org.notify("p_a", "TypeError", 2 * DAY_MS - 1).await);
    assert!(org.notify("p_a", "TypeError", 2 * DAY_MS + 5).await);
    assert!(!org.notify("p_a", "TypeError", 3 * DAY_MS).await);
}

pub async fn the_window_of_notices_outlives_the_server(database: &dyn Database) {
    let org = Org::first(database).await;
    assert!(org.notify("p_a", "TypeError", 0).await);
    org.store.close().await;
    let org = Org { store: database.open().await, ..org };
    assert!(!org.notify("p_a", "TypeError", DAY_MS - 1).await);
    org.store.close().await;
    let org = Org { store: database.open().await, ..org };
    assert!(org.notify("p_a", "TypeError", DAY_MS).await);
    assert_eq!(org.mails().await.len(), 2);
}

pub async fn an_error_of_an_ignored_group_is_not_mailed(database: &dyn Database) {
    let org = Org::first(database).await;
    let owner = Owner::from_row("p_a".into());
    let run = org.start(&owner, 0).await;
    let group = super::errors::group(&org, "p_a", "one", "TypeError", &run, 0);
    let settlement = Settlement {
        status: RunStatus::Failed,
        error: Some("{}".into()),
        group: Some(group.clone()),
        ..settlement(&run, 1, 0)
    };
    org.store.settle(settlement).await.expect("settles");
    let change =
        |state, ms| ErrorGroupChange { at: at(ms), state, by: None, note: None, run_id: None };
    let tell = |ms| {
        let notice = Notice { group: Some(group.id.clone()), ..org.notice("p_a", "TypeError", ms) };
        async {
            org.store
                .settle_effects(Effects { notice: Some(notice), ..Effects::default() })
                .await
                .expect("settles")
        }
    };
    assert!(
        org.store
            .change_error_group(&org.id, &group.id, change(ErrorState::Ignored, 1))
            .await
            .expect("changes")
    );
    tell(2).await;
    assert!(org.store.list_mail(&org.id, &page(10)).await.expect("lists").items.is_empty());
    assert!(
        org.store
            .change_error_group(&org.id, &group.id, change(ErrorState::Open, 3))
            .await
            .expect("changes")
    );
    tell(4).await;
    assert_eq!(org.store.list_mail(&org.id, &page(10)).await.expect("lists").items.len(), 1);
}

pub async fn an_owner_gets_notices_of_a_bounded_number_of_classes(database: &dyn Database) {
    let org = Org::first(database).await;
    for n in 0..Notice::CLASSES_MAX {
        assert!(org.notify("p_a", &format!("Class{n}"), n).await, "{n}");
    }
    assert!(!org.notify("p_a", "OneMore", 200).await);
    // Neither of another owner, nor a day later, nor one that was counted.
    assert!(org.notify("p_b", "OneMore", 200).await);
    assert!(!org.notify("p_a", "Class0", 200).await);
    assert!(org.notify("p_a", "Class0", DAY_MS + 200).await);
    assert!(org.notify("p_a", "OneMore", DAY_MS + 200).await);
}

pub async fn an_outbox_holds_a_bounded_number_of_bytes(database: &dyn Database) {
    let org = Org::first(database).await;
    let other = Org::another(&org.store, "other").await;
    let large = |of: &Org, ms| Mail { html: Some("x".repeat(16 << 20)), ..of.mail(ms) };
    for ms in 0..4 {
        assert!(org.store.queue_mail(large(&org, ms)).await.expect("queues"), "{ms}");
    }
    assert!(!org.store.queue_mail(org.mail(5)).await.expect("answers"));
    // A notice is left out, and the run that failed settles all the same.
    assert!(!org.notify("p_a", "TypeError", 6).await);
    let link = Mail { link: Some("sealed".into()), ..org.mail(7) };
    assert!(org.store.queue_mail(link).await.expect("queues"));
    assert!(org.store.queue_mail(other.mail(8)).await.expect("queues"));
    // What was sent makes room.
    for large in claim(&org, 10, 1_000, 10).await.iter().filter(|mail| mail.html.is_some()) {
        org.store.mail_result(&large.id, MailResult::Sent).await.expect("records");
    }
    assert!(org.store.queue_mail(org.mail(9)).await.expect("queues"));
}

pub async fn a_notice_tells_how_many_errors_there_were(database: &dyn Database) {
    let org = Org::first(database).await;
    let tell = async |ms: i64| {
        let mail = |to: &str| Mail {
            recipient: to.into(),
            text: format!("{} of them", Notice::COUNT),
            html: Some(format!("<b>{}</b>", Notice::COUNT)),
            ..org.mail(ms)
        };
        let notice = Notice {
            mails: vec![mail("a@x.test"), mail("b@x.test")],
            ..org.notice("p_a", "TypeError", ms)
        };
        org.store
            .settle_effects(Effects { notice: Some(notice), ..Effects::default() })
            .await
            .expect("settles");
        org.mails()
            .await
            .iter()
            .map(|m| (m.recipient.clone(), m.text.clone(), m.html.clone().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    let first = tell(0).await;
    assert!(
        first.len() == 2
            && first.iter().all(|(_, text, html)| text == "1 of them" && html == "<b>1</b>"),
        "{first:?}"
    );
    for ms in [1, 2, 3] {
        assert_eq!(tell(ms).await.len(), 2);
    }
    let later = tell(DAY_MS).await;
    let told: Vec<_> = later.iter().map(|(_, text, _)| text.as_str()).collect();
    assert_eq!(told, ["4 of them", "4 of them", "1 of them", "1 of them"]);
    let to: HashSet<_> = later[..2].iter().map(|(to, _, _)| to.as_str()).collect();
    assert_eq!(to, HashSet::from(["a@x.test", "b@x.test"]));
    tell(DAY_MS + 1).await;
    assert_eq!(tell(2 * DAY_MS).await[0].1, "2 of them");
}
