use proptest::{prop_assert, prop_assert_eq, proptest};
use serde_json::json;

use super::*;

fn events(ids: &[Value]) -> Vec<Candidate> {
    ids.iter().map(|id| Candidate { id: Some(id.clone()), ts: None }).collect()
}

fn check(strategy: Strategy, runs: &[&[Value]]) -> Vec<Vec<usize>> {
    let mut state = DedupeState::default();
    runs.iter()
        .map(|ids| {
            let out = dedupe(Some(strategy), &state, &events(ids));
            state = out.state;
            out.emitted
        })
        .collect()
}

#[test]
fn unique_forgets_first_in_first_out() {
    let first: Vec<Value> = (0..101).map(|n| json!(n)).collect();
    assert_eq!(
        check(Strategy::Unique, &[&first, &[json!(0), json!(100), json!(50)]]),
        [(0..101).collect(), vec![0]]
    );
}

#[test]
fn unique_holds_within_one_run() {
    assert_eq!(check(Strategy::Unique, &[&[json!("a"), json!("a"), json!("b")]]), [[0, 2]]);
}

#[test]
fn greatest_compares_with_the_cache_of_the_run_before() {
    let runs: [&[Value]; 3] = [
        &[json!(2), json!(1), json!(3)],
        &[json!(3), json!(4)],
        &[json!("9007199254740993"), json!("9007199254740992")],
    ];
    assert_eq!(check(Strategy::Greatest, &runs), [vec![0, 1, 2], vec![1], vec![0, 1]]);
}

#[test]
fn greatest_refuses_what_is_no_number() {
    let out =
        dedupe(Some(Strategy::Greatest), &DedupeState::default(), &events(&[json!("x"), json!(1)]));
    assert_eq!(out.emitted, [1]);
    assert_eq!(out.refused, [(0, DedupeError::NotNumeric { id: "x".into() })]);
}

#[test]
fn last_emits_only_what_follows_the_cached_id() {
    let runs: [&[Value]; 3] = [
        &[json!("a"), json!("b")],
        &[json!("a"), json!("b"), json!("c")],
        &[json!("x"), json!("y")],
    ];
    assert_eq!(check(Strategy::Last, &runs), [vec![0, 1], vec![2], vec![0, 1]]);
}

#[test]
fn last_caches_the_newest_timestamp() {
    let candidates = [("a", 5.0), ("b", 9.0), ("c", 7.0)]
        .map(|(id, ts)| Candidate { id: Some(json!(id)), ts: Some(ts) });
    let out = dedupe(Some(Strategy::Last), &DedupeState::default(), &candidates);
    assert_eq!((out.emitted, out.state.last), (vec![0, 2, 1], Some("b".into())));
}

#[test]
fn an_event_without_id_is_refused_and_named() {
    let out = dedupe(
        Some(Strategy::Unique),
        &DedupeState::default(),
        &[Candidate { id: None, ts: None }],
    );
    assert!(out.emitted.is_empty());
    assert_eq!(out.refused[0].1, DedupeError::MissingId { strategy: "unique" });
}

proptest! {
    #[test]
    fn emitted_is_sorted_by_ts_and_a_subset(ts in proptest::collection::vec(proptest::option::of(0..50i32), 0..40), ids in proptest::collection::vec(0..20i32, 40)) {
        let candidates: Vec<Candidate> = ts.iter().zip(&ids).map(|(ts, id)| Candidate { id: Some(json!(id)), ts: ts.map(f64::from) }).collect();
        for strategy in [None, Some(Strategy::Unique), Some(Strategy::Greatest), Some(Strategy::Last)] {
            let out = dedupe(strategy, &DedupeState::default(), &candidates);
            let times: Vec<f64> = out.emitted.iter().filter_map(|&i| candidates[i].ts).collect();
            prop_assert!(times.is_sorted());
            let mut seen = out.emitted.clone();
            seen.sort_unstable();
            seen.dedup();
            prop_assert_eq!(seen.len(), out.emitted.len());
        }
    }

    #[test]
    fn unique_never_emits_an_id_twice_among_a_hundred(ids in proptest::collection::vec(0..30i32, 0..200)) {
        let values: Vec<Value> = ids.iter().map(|id| json!(id)).collect();
        let out = dedupe(Some(Strategy::Unique), &DedupeState::default(), &events(&values));
        let mut emitted: Vec<i32> = out.emitted.iter().map(|&i| ids[i]).collect();
        let count = emitted.len();
        emitted.sort_unstable();
        emitted.dedup();
        prop_assert_eq!(emitted.len(), count);
    }
}

#[test]
fn long_ids_are_told_apart_and_not_kept() {
    let long = |end: &str| json!(format!("{}{end}", "é".repeat(1 << 20)));
    for strategy in [Strategy::Unique, Strategy::Last] {
        let mut state = DedupeState {
            unique: [long("0").as_str().expect("text").to_owned()].into(),
            ..DedupeState::default()
        };
        let seen =
            dedupe(Some(strategy), &state, &events(&[long("0"), long("1"), long("2"), json!("a")]));
        assert_eq!(
            seen.emitted,
            if strategy == Strategy::Unique { vec![1, 2, 3] } else { vec![0, 1, 2, 3] }
        );
        state = seen.state;
        let seen =
            dedupe(Some(strategy), &state, &events(&[long("2"), long("1"), json!("a"), long("3")]));
        assert_eq!(seen.emitted, [3], "{strategy:?}");
        assert!(serde_json::to_string(&seen.state).expect("JSON").len() < 10_000);
    }
    let refused = dedupe(
        Some(Strategy::Greatest),
        &DedupeState::default(),
        &events(&[json!("9".repeat(1 << 20)), json!(1)]),
    )
    .refused;
    assert!(refused.len() == 1 && refused[0].1.to_string().len() < 1_000, "{refused:?}");
}
