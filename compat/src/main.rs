//! Compatibility with a checkout of components, as figures: every component of a checkout is read,
//! a random sample is bundled and loaded, and what the code says of itself is compared with what
//! its module says.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool speaks to the terminal"
)]

mod args;
mod fixture;
mod report;
mod sample;
mod trial;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use millrace_bundle::{Folder, Index, extract};

use crate::args::Args;
use crate::fixture::Fixture;
use crate::report::{Causes, Stage};
use crate::trial::Workbench;

/// The subcommand of a process that bundles one component, as the server has it.
pub(crate) const BUNDLE_WORKER: &str = "bundle-worker";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<()> {
    if args == [BUNDLE_WORKER] {
        return millrace_bundle::work(trial::PLATFORM_MODULES).map_err(anyhow::Error::new);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("could not start")?;
    runtime.block_on(measure(&Args::parse(args)?))
}

async fn measure(args: &Args) -> Result<()> {
    let folder = Folder::new(&args.folder);
    let started = Instant::now();
    let index = Index::of(&folder, None);
    let first = started.elapsed();
    let total = index.entries.len() + index.unindexed.len();
    if total == 0 {
        bail!(
            "`{}` holds no `components/<app>/sources|actions/<slug>/<slug>.mjs`; name the root of a checkout",
            args.folder.display()
        );
    }
    let started = Instant::now();
    let again = Index::of(&folder, Some(&index));
    println!(
        "seed {}, sample {} of {} components",
        args.seed,
        args.sample.min(index.entries.len()),
        total
    );
    println!(
        "index: {:.2} s; once more, {} of them read anew: {:.2} s",
        first.as_secs_f64(),
        again.read,
        started.elapsed().as_secs_f64()
    );
    let mut causes = Causes::default();
    for file in &index.unindexed {
        causes.add("indexed", &file.reason, &file.path);
    }
    let indexed = Stage { name: "indexed (key known)", good: index.entries.len(), of: total };
    let described =
        index.entries.iter().filter(|e| !e.name.is_empty() && !e.version.is_empty()).count();
    let described = Stage { name: "name and version known too", good: described, of: total };

    // What has a fixture is always tried.
    let fixtures = args.fixtures.as_deref().unwrap_or(&args.folder);
    let mut recorded = BTreeMap::new();
    for entry in &index.entries {
        match Fixture::read(fixtures, &entry.path) {
            Ok(None) => {}
            Ok(Some(fixture)) => drop(recorded.insert(entry.path.clone(), Ok(fixture))),
            Err(error) => drop(recorded.insert(entry.path.clone(), Err(error))),
        }
    }
    let mut chosen = sample::choose(&index.entries, args.sample, args.seed);
    let missing = index.entries.iter().filter(|entry| {
        recorded.contains_key(&entry.path) && chosen.iter().all(|c| c.path != entry.path)
    });
    chosen.extend(missing.cloned().collect::<Vec<_>>());
    let bench = Arc::new(Workbench::open(args).await?);
    let mut waiting = chosen.into_iter();
    let mut under_way = tokio::task::JoinSet::new();
    let mut outcomes = Vec::new();
    loop {
        while under_way.len() < args.jobs {
            let Some(entry) = waiting.next() else { break };
            let (bench, folder) = (bench.clone(), folder.clone());
            let facts = extract::component(&folder, &entry.path);
            let fixture = recorded.remove(&entry.path);
            under_way.spawn(async move { bench.trial(&folder, &entry, facts, fixture).await });
        }
        let Some(outcome) = under_way.join_next().await else { break };
        let outcome = outcome.context("a trial broke down")?;
        if args.verbose || outcome.failure.is_some() {
            eprintln!(
                "{:5.1} s {} {}",
                outcome.took.as_secs_f64(),
                outcome.path,
                outcome.failure.as_ref().map_or("good", |f| f.stage)
            );
        }
        outcomes.push(outcome);
    }
    bench.close().await;
    let stages = report::stages(&outcomes, &mut causes);
    report::print(&[vec![indexed, described], stages].concat(), &causes, &outcomes);
    Ok(())
}
