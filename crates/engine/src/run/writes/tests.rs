use millrace_model::IdSource;

use super::*;

fn write(visit: &Visit, key: &str) -> DbWrite {
    DbWrite { key: key.into(), value: Some("1".into()), at: visit.wrote() }
}

fn begin(writes: &Arc<Writes>, source: &SourceId, of_run: &[DbWrite]) -> Settling {
    match writes.settle(source, of_run) {
        Standing::Settles(settling) => settling,
        Standing::Waits => panic!("it waits"),
        Standing::Lost => panic!("it is lost"),
    }
}

#[test]
fn a_write_that_was_overtaken_is_left_out() {
    let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
    let (a, b) = (writes.enter(&source), writes.enter(&source));
    let first = [write(&a, "n"), write(&a, "only a")];
    let second = [write(&b, "n")];
    let mut settling = begin(&writes, &source, &second);
    assert_eq!(settling.take_counted().len(), 1);
    assert!(matches!(writes.settle(&source, &first), Standing::Waits), "it may yet fail");
    settling.stored();
    drop(b);
    assert_eq!(begin(&writes, &source, &first).take_counted(), [("only a".into(), Some("1".into()))]);
    drop(a);
    assert!(writes.sources.lock().is_empty(), "nothing is remembered of a source that rests");
}

#[test]
fn who_wrote_before_a_write_that_failed_is_lost_with_it_unless_a_later_one_is_stored() {
    let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
    let runs: Vec<_> = (0..4).map(|_| writes.enter(&source)).collect();
    let of: Vec<[DbWrite; 1]> = runs.iter().map(|run| [write(run, "n")]).collect();
    begin(&writes, &source, &of[1]).taken_back();
    begin(&writes, &source, &of[0]).taken_back();
    drop(begin(&writes, &source, &of[1]));
    assert!(matches!(writes.settle(&source, &of[0]), Standing::Lost));
    let mut last = begin(&writes, &source, &of[3]);
    assert_eq!(last.take_counted().len(), 1, "what failed before it is nothing to it");
    assert!(matches!(writes.settle(&source, &of[2]), Standing::Waits));
    last.stored();
    assert!(begin(&writes, &source, &of[2]).take_counted().is_empty());
    assert!(begin(&writes, &source, &of[0]).take_counted().is_empty(), "a later one is stored");
}

#[test]
fn keys_that_nobody_can_overtake_are_forgotten() {
    let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
    let old = writes.enter(&source);
    let all: Vec<DbWrite> = (0..=KEYS_KEPT).map(|n| write(&old, &n.to_string())).collect();
    begin(&writes, &source, &all).stored();
    assert_eq!(writes.sources.lock()[&source].keys.len(), KEYS_KEPT + 1, "the run that wrote them goes on");
    let new = writes.enter(&source);
    drop(old);
    begin(&writes, &source, &[write(&new, "new")]).stored();
    assert_eq!(writes.sources.lock()[&source].keys.len(), 1);
}

#[tokio::test]
async fn what_waits_is_told_when_it_is_decided() {
    let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
    let (a, b) = (writes.enter(&source), writes.enter(&source));
    let (first, second) = ([write(&a, "n")], [write(&b, "n")]);
    let settling = begin(&writes, &source, &second);
    let waits = tokio::spawn({
        let (writes, source) = (writes.clone(), source.clone());
        async move { writes.decided(&source, &first).await }
    });
    tokio::task::yield_now().await;
    assert!(!waits.is_finished());
    drop(settling);
    waits.await.expect("ends");
    drop((a, b));
}

#[test]
fn a_map_is_behind_once_another_server_wrote() {
    let (writes, source) = (Writes::default(), SourceId::generate(&IdSource::default()));
    assert!(!writes.is_behind(&source, 7), "no host has read it yet");
    writes.read(&source, 7);
    writes.settlement(&source, 1);
    assert!(!writes.is_behind(&source, 8));
    writes.settlement(&source, 1);
    writes.settlement(&source, -1);
    assert!(writes.is_behind(&source, 9));
    assert!(!writes.is_behind(&source, 9), "the next host is on its way");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_goes_on_in_an_earlier_host_is_given_up_and_one_that_has_yet_to_settle_is_not() {
    let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
    let (endless, over) = (writes.enter(&source), writes.enter(&source));
    endless.given();
    over.ended();
    writes.quiet(&source).await;
    over.given();
    over.ended();
    let waits = tokio::spawn({
        let (writes, source) = (writes.clone(), source.clone());
        async move { writes.quiet(&source).await }
    });
    tokio::time::sleep(QUIET_MAX * 100).await;
    assert!(!waits.is_finished(), "the disk is slow");
    drop(over);
    waits.await.expect("ends");
    drop(endless);
}

#[tokio::test]
async fn a_host_begins_once_all_has_settled() {
    let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
    let (idle, busy) = (writes.enter(&source), writes.enter(&source));
    writes.quiet(&source).await;
    busy.given();
    let waits = tokio::spawn({
        let (writes, source) = (writes.clone(), source.clone());
        async move { writes.quiet(&source).await }
    });
    tokio::task::yield_now().await;
    assert!(!waits.is_finished());
    drop(busy);
    waits.await.expect("ends");
    drop(idle);
}

#[tokio::test]
async fn runs_settle_in_the_order_in_which_they_ended() {
    let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
    let [first, second, third, never] = [0; 4].map(|_| writes.enter(&source));
    for run in [&third, &first, &second] {
        run.given();
    }
    for run in [&first, &second, &third, &never] {
        run.ended();
    }
    first.comes_first().await;
    never.comes_first().await;
    let waits = |run: &Arc<Visit>| {
        let run = run.clone();
        tokio::spawn(async move { run.comes_first().await })
    };
    let (mut next, mut last) = (waits(&second), waits(&third));
    tokio::task::yield_now().await;
    assert!(!next.is_finished() && !last.is_finished());
    first.leave_line();
    (&mut next).await.expect("ends");
    first.comes_first().await;
    assert!(!last.is_finished());
    // What ends without settling holds nobody up.
    drop((next, second));
    (&mut last).await.expect("ends");
}
