use millrace_model::IdSource;

use super::*;

fn write(visit: &Visit, key: &str) -> DbWrite {
    DbWrite { key: key.into(), value: Some("1".into()), at: visit.wrote() }
}

fn begin(writes: &Arc<Writes>, source: &SourceId, of_run: &[DbWrite]) -> Settling {
    match writes.settle(source, of_run, None) {
        Standing::Settles(settling) => settling,
        Standing::Waits => panic!("it waits"),
        Standing::Lost => panic!("it is lost"),
        Standing::Behind => panic!("it is behind"),
    }
}

#[test]
fn a_write_that_was_overtaken_is_left_out() {
    let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
    let (a, b) = (writes.enter(&source, true), writes.enter(&source, true));
    let first = [write(&a, "n"), write(&a, "only a")];
    let second = [write(&b, "n")];
    let mut settling = begin(&writes, &source, &second);
    assert_eq!(settling.take_counted().len(), 1);
    assert!(matches!(writes.settle(&source, &first, None), Standing::Waits), "it may yet fail");
    settling.stored();
    drop(b);
    assert_eq!(begin(&writes, &source, &first).take_counted(), [("only a".into(), Some("1".into()))]);
    drop(a);
    assert!(writes.sources.lock().is_empty(), "nothing is remembered of a source that rests");
}

#[test]
fn who_wrote_before_a_write_that_failed_is_lost_with_it_unless_a_later_one_is_stored() {
    let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
    let runs: Vec<_> = (0..4).map(|_| writes.enter(&source, true)).collect();
    let of: Vec<[DbWrite; 1]> = runs.iter().map(|run| [write(run, "n")]).collect();
    begin(&writes, &source, &of[1]).taken_back();
    begin(&writes, &source, &of[0]).taken_back();
    drop(begin(&writes, &source, &of[1]));
    assert!(matches!(writes.settle(&source, &of[0], None), Standing::Lost));
    let mut last = begin(&writes, &source, &of[3]);
    assert_eq!(last.take_counted().len(), 1, "what failed before it is nothing to it");
    assert!(matches!(writes.settle(&source, &of[2], None), Standing::Waits));
    last.stored();
    assert!(begin(&writes, &source, &of[2]).take_counted().is_empty());
    assert!(begin(&writes, &source, &of[0]).take_counted().is_empty(), "a later one is stored");
}

#[test]
fn keys_that_nobody_can_overtake_are_forgotten() {
    let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
    let old = writes.enter(&source, true);
    let all: Vec<DbWrite> = (0..=KEYS_KEPT).map(|n| write(&old, &n.to_string())).collect();
    begin(&writes, &source, &all).stored();
    assert_eq!(writes.sources.lock()[&source].keys.len(), KEYS_KEPT + 1, "the run that wrote them goes on");
    let new = writes.enter(&source, true);
    drop(old);
    begin(&writes, &source, &[write(&new, "new")]).stored();
    assert_eq!(writes.sources.lock()[&source].keys.len(), 1);
}

#[tokio::test]
async fn what_waits_is_told_when_it_is_decided() {
    let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
    let (a, b) = (writes.enter(&source, true), writes.enter(&source, true));
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

fn settlements(all: i64, seated: i64) -> SourceWrites {
    SourceWrites { all, seated }
}

#[test]
fn a_map_is_behind_once_another_server_wrote() {
    let (writes, source) = (Writes::default(), SourceId::generate(&IdSource::default()));
    assert!(!writes.is_behind(&source, settlements(7, 7)), "no host has read it yet");
    writes.read(&source, settlements(7, 7));
    writes.settlement(&source, None, 1);
    assert!(!writes.is_behind(&source, settlements(8, 7)));
    writes.settlement(&source, None, 1);
    writes.settlement(&source, None, -1);
    assert!(writes.is_behind(&source, settlements(9, 7)));
    assert!(!writes.is_behind(&source, settlements(9, 7)), "the next host is on its way");
}

#[test]
fn a_run_settles_by_the_map_that_it_had() {
    let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
    let given = |is_seated: bool| {
        let visit = writes.enter(&source, is_seated);
        visit.given();
        visit
    };
    let seen = |visit: &Visit| match writes.settle(&source, &[], Some(visit)) {
        Standing::Settles(settling) => Some(settling.seated()),
        Standing::Behind => None,
        Standing::Waits | Standing::Lost => panic!("it wrote nothing"),
    };
    writes.read(&source, settlements(5, 4));
    let (first, unseated, never) = (given(true), given(false), writes.enter(&source, true));
    assert_eq!((seen(&first), seen(&unseated), seen(&never)), (Some(Some(4)), Some(None), Some(None)));
    let settle = |visit: &Arc<Visit>| match writes.settle(&source, &[write(visit, "n")], Some(visit)) {
        Standing::Settles(settling) => settling,
        _ => panic!("it settles"),
    };
    settle(&first).stored();
    assert_eq!(seen(&first), Some(Some(5)));
    settle(&first).taken_back();
    settle(&unseated).stored();
    assert_eq!(seen(&first), Some(Some(5)), "what has no seat is not looked for");
    // The next host of this server, whoever had no seat meanwhile.
    writes.read(&source, settlements(8, 5));
    let second = given(true);
    settle(&second).stored();
    assert_eq!((seen(&first), seen(&second)), (Some(Some(6)), Some(Some(6))));
    // The next host after another server had the seat: who is in the one before is behind, however often this one settles.
    writes.read(&source, settlements(11, 8));
    let third = given(true);
    assert_eq!((seen(&first), seen(&second), seen(&third)), (None, None, Some(Some(8))));
    // Where a later run went on from what it wrote, and is stored, nothing is missing.
    let (earlier, later) = ([write(&third, "n")], given(true));
    let seated = |writes_of: &[DbWrite]| match writes.settle(&source, writes_of, Some(&third)) {
        Standing::Settles(settling) => settling.seated(),
        _ => panic!("it settles"),
    };
    settle(&later).stored();
    assert_eq!((seated(&earlier), seated(&[write(&third, "other")])), (None, Some(9)));
    third.taken_back();
    assert_eq!(seen(&third), Some(None), "no host has it");
    writes.forget(&source);
    assert_eq!(seen(&second), None);
}

#[test]
fn what_went_on_from_a_write_that_failed_goes_again_with_what_is_stored() {
    let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
    for is_seated in [true, false] {
        writes.read(&source, settlements(0, 0));
        let [failed, wrote, read, kept] = [0; 4].map(|_| {
            let visit = writes.enter(&source, is_seated);
            visit.given();
            visit
        });
        let of = [&kept, &failed, &wrote].map(|visit| [write(visit, "n")]);
        let settle = |visit: &Visit, of: &[DbWrite]| writes.settle(&source, of, Some(visit));
        let Standing::Settles(settling) = settle(&kept, &of[0]) else { panic!("it settles") };
        settling.taken_back();
        let Standing::Settles(settling) = settle(&failed, &of[1]) else { panic!("it settles") };
        drop(settling);
        for (visit, of) in [(&wrote, &of[2][..]), (&read, &[]), (&kept, &of[0])] {
            assert!(matches!(settle(visit, of), Standing::Behind));
        }
        // The next host.
        writes.read(&source, settlements(0, 0));
        let next = writes.enter(&source, is_seated);
        next.given();
        let Standing::Settles(settling) = settle(&next, &[write(&next, "n")]) else { panic!("it settles") };
        settling.stored();
        assert!(matches!(settle(&wrote, &[write(&wrote, "n")]), Standing::Behind), "also once others have settled");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_goes_on_in_an_earlier_host_is_given_up_and_one_that_has_yet_to_settle_is_not() {
    let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
    let (endless, over) = (writes.enter(&source, true), writes.enter(&source, true));
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
    let (idle, busy) = (writes.enter(&source, true), writes.enter(&source, true));
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
    let [first, second, third, never] = [0; 4].map(|_| writes.enter(&source, true));
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
