//! Arguments of the measurement.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use millrace_model::{Clock as _, SystemClock};

pub const HELP: &str = "cargo xtask compat FOLDER [--sample N] [--seed S] [--jobs N] [--cache DIR] [--fixtures DIR] [--verbose]";

pub struct Args {
    /// The root of a checkout.
    pub folder: PathBuf,
    /// How many components are bundled and loaded.
    pub sample: usize,
    /// Chooses them.
    pub seed: u64,
    /// How many at once.
    pub jobs: usize,
    /// Where packages are kept between measurements.
    pub cache: PathBuf,
    /// Where fixtures are, at the paths of their components; the checkout itself where none is
    /// given.
    pub fixtures: Option<PathBuf>,
    /// Tells of each component.
    pub verbose: bool,
}

impl Args {
    pub fn parse(args: &[String]) -> Result<Self> {
        let seed = SystemClock.now().ms().unsigned_abs();
        let cache = std::env::temp_dir().join("millrace-compat");
        let mut parsed = Self {
            folder: PathBuf::new(),
            sample: 500,
            seed,
            jobs: 2,
            cache,
            fixtures: None,
            verbose: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value =
                || args.next().with_context(|| format!("`{arg}` needs a value; {HELP}"));
            match arg.as_str() {
                "--sample" => parsed.sample = value()?.parse().context("`--sample` is a number")?,
                "--seed" => parsed.seed = value()?.parse().context("`--seed` is a number")?,
                "--jobs" => {
                    parsed.jobs = value()?.parse::<usize>().context("`--jobs` is a number")?.max(1)
                }
                "--cache" => parsed.cache = value()?.into(),
                "--fixtures" => parsed.fixtures = Some(value()?.into()),
                "--verbose" => parsed.verbose = true,
                flag if flag.starts_with('-') => bail!("`{flag}` is not a flag; {HELP}"),
                folder if parsed.folder.as_os_str().is_empty() => parsed.folder = folder.into(),
                other => bail!("`{other}` is one folder too many; {HELP}"),
            }
        }
        if parsed.folder.as_os_str().is_empty() {
            bail!("name the folder of a checkout; {HELP}");
        }
        Ok(parsed)
    }
}
