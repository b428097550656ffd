//! Deduplication of a source's emits (spec 6.4, reference 3): works on all events of one run.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Ids that `unique` remembers (spec 8).
pub const UNIQUE_CACHE: usize = 100;

/// Bytes of an id that is remembered as it is; of a longer one its hash: each run reads and writes
/// all that is remembered.
const ID_BYTES_MAX: usize = 1024;
/// Characters of an id that an error shows.
const SHOWN_CHARS: usize = 80;

/// The strategy that a component names in `dedupe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// An id not among the last 100 emitted.
    Unique,
    /// A numeric id greater than all before.
    Greatest,
    /// What stands after the event with the id emitted last.
    Last,
}

/// What a source remembers between runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DedupeState {
    /// `unique`: emitted ids, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub unique: VecDeque<String>,
    /// `greatest`: the largest id as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greatest: Option<String>,
    /// `last`: the id emitted last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
}

/// What dedupe needs to know of an emitted event.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// `id` as given: a string or number, or none.
    pub id: Option<Value>,
    /// `ts` as given, epoch milliseconds.
    pub ts: Option<f64>,
}

/// An event that the strategy cannot judge; it is refused and the others go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DedupeError {
    /// An event without an id under a strategy.
    #[error(
        "an event was emitted without an `id`, which `dedupe: \"{strategy}\"` needs; pass one: this.$emit(event, {{ id, summary, ts }})"
    )]
    MissingId {
        /// The strategy's name.
        strategy: &'static str,
    },
    /// `greatest` needs numbers.
    #[error("an event was emitted with the id `{id}`, but `dedupe: \"greatest\"` needs a number")]
    NotNumeric {
        /// The id given.
        id: String,
    },
}

/// The outcome of one run's dedupe.
#[derive(Debug)]
pub struct Deduped {
    /// Indexes of the candidates to emit, in the order of delivery.
    pub emitted: Vec<usize>,
    /// What to remember.
    pub state: DedupeState,
    /// The candidates refused, each with its cause.
    pub refused: Vec<(usize, DedupeError)>,
}

/// Sorts a run's events by `ts` where given, oldest first, then filters them by `strategy`.
pub fn dedupe(
    strategy: Option<Strategy>,
    state: &DedupeState,
    candidates: &[Candidate],
) -> Deduped {
    let mut out = Deduped { emitted: Vec::new(), state: state.clone(), refused: Vec::new() };
    // Of states that were stored before.
    out.state.unique.iter_mut().chain(&mut out.state.last).for_each(|id| *id = remembered(id));
    let ordered = order_by_ts(candidates);
    let Some(strategy) = strategy else {
        out.emitted = ordered;
        return out;
    };
    let mut judged = Vec::with_capacity(ordered.len());
    for index in ordered {
        match usable_id(strategy, &candidates[index]) {
            Ok(id) => judged.push((index, id)),
            Err(error) => out.refused.push((index, error)),
        }
    }
    match strategy {
        Strategy::Unique => unique(&mut out, judged),
        Strategy::Greatest => greatest(&mut out, judged),
        Strategy::Last => last(&mut out, judged, candidates),
    }
    out
}

/// Events without a usable `ts` keep their place; the others are sorted among their own places.
fn order_by_ts(candidates: &[Candidate]) -> Vec<usize> {
    let places: Vec<usize> =
        (0..candidates.len()).filter(|&i| usable_ts(&candidates[i]).is_some()).collect();
    let mut sorted = places.clone();
    sorted.sort_by(|&a, &b| {
        usable_ts(&candidates[a])
            .unwrap_or(0.0)
            .total_cmp(&usable_ts(&candidates[b]).unwrap_or(0.0))
    });
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    for (place, index) in places.into_iter().zip(sorted) {
        order[place] = index;
    }
    order
}

fn usable_ts(candidate: &Candidate) -> Option<f64> {
    candidate.ts.filter(|ts| ts.is_finite())
}

fn usable_id(strategy: Strategy, candidate: &Candidate) -> Result<String, DedupeError> {
    let id = match &candidate.id {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        Some(Value::Bool(id)) => id.to_string(),
        _ => return Err(DedupeError::MissingId { strategy: strategy.name() }),
    };
    let is_long = id.len() > ID_BYTES_MAX;
    if strategy == Strategy::Greatest && (is_long || numeric(&id).is_none()) {
        return Err(DedupeError::NotNumeric { id: id.chars().take(SHOWN_CHARS).collect() });
    }
    Ok(remembered(&id))
}

/// An id as the state has it.
fn remembered(id: &str) -> String {
    if id.len() <= ID_BYTES_MAX {
        return id.to_owned();
    }
    Sha256::digest(id).iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

impl Strategy {
    /// As the component writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unique => "unique",
            Self::Greatest => "greatest",
            Self::Last => "last",
        }
    }
}

/// Integers of any size compare exactly (ids of 19 digits are common); anything else as a float.
fn numeric(id: &str) -> Option<(Option<i128>, f64)> {
    let float: f64 = id.trim().parse().ok().filter(|f: &f64| f.is_finite())?;
    Some((id.trim().parse().ok(), float))
}

fn greater(a: &str, b: &str) -> bool {
    match (numeric(a), numeric(b)) {
        (Some((Some(a), _)), Some((Some(b), _))) => a > b,
        (Some((_, a)), Some((_, b))) => a > b,
        _ => false,
    }
}

fn unique(out: &mut Deduped, judged: Vec<(usize, String)>) {
    for (index, id) in judged {
        if out.state.unique.contains(&id) {
            continue;
        }
        out.state.unique.push_back(id);
        if out.state.unique.len() > UNIQUE_CACHE {
            out.state.unique.pop_front();
        }
        out.emitted.push(index);
    }
}

/// The cache moves at the end of the run: events of one run are compared with the cache as it was
/// before it.
fn greatest(out: &mut Deduped, judged: Vec<(usize, String)>) {
    let before = out.state.greatest.clone();
    for (index, id) in judged {
        if before.as_deref().is_none_or(|cached| greater(&id, cached)) {
            if out.state.greatest.as_deref().is_none_or(|now| greater(&id, now)) {
                out.state.greatest = Some(id);
            }
            out.emitted.push(index);
        }
    }
}

fn last(out: &mut Deduped, judged: Vec<(usize, String)>, candidates: &[Candidate]) {
    let cached = out.state.last.clone();
    let start =
        judged.iter().rposition(|(_, id)| Some(id) == cached.as_ref()).map_or(0, |found| found + 1);
    let newest = judged[start..]
        .iter()
        .filter(|(index, _)| usable_ts(&candidates[*index]).is_some())
        .max_by(|(a, _), (b, _)| {
            usable_ts(&candidates[*a])
                .unwrap_or(0.0)
                .total_cmp(&usable_ts(&candidates[*b]).unwrap_or(0.0))
        })
        .or_else(|| judged[start..].last());
    if let Some((_, id)) = newest {
        out.state.last = Some(id.clone());
    }
    out.emitted.extend(judged[start..].iter().map(|(index, _)| *index));
}

#[cfg(test)]
mod tests;
