//! Messages about a command line that cannot be parsed: the fault, the usage, an example.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Error};
use serde_json::json;

/// The status of wrong use.
const WRONG_USE: u8 = 2;

/// Tells it and gives the exit status. Help and versions, which are asked for, go to standard
/// output.
pub(crate) fn report<C: CommandFactory>(mut error: Error, args: &[OsString]) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    let mut command = named::<C>(args);
    // Where the environment names the server or the key, clap takes the line for one with
    // arguments, and lists all commands, hidden ones too.
    let is_bare = matches!(
        error.kind(),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if error.kind() == ErrorKind::MissingSubcommand {
        error =
            Error::raw(ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, command.render_help());
    }
    // What clap says by itself shows as given what the environment gives: the server and the key.
    if error.get(ContextKind::Usage).is_some() {
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage(&mut command)));
    }
    if args.iter().any(|arg| arg == "--json") {
        let text =
            if is_bare { "no command is given".to_owned() } else { error.render().to_string() };
        let said = text
            .split("\n\nUsage:")
            .next()
            .and_then(|said| said.split("\n\nFor more").next())
            .unwrap_or(&text);
        let said = said
            .trim()
            .trim_start_matches("error: ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let hint = usage(&mut command).to_string();
        // Nobody is left to be told that standard error is closed.
        let _ = writeln!(
            std::io::stderr().lock(),
            "{}",
            json!({ "error": said, "code": "wrong_use", "hint": hint })
        );
    } else {
        let _ = error.print();
    }
    ExitCode::from(WRONG_USE)
}

/// The command that the arguments name, as far as they do.
fn named<C: CommandFactory>(args: &[OsString]) -> Command {
    let mut root = C::command();
    root.build();
    let mut path = Vec::new();
    if let Ok(matches) = C::command().ignore_errors(true).try_get_matches_from(args) {
        let mut matches = &matches;
        while let Some((name, below)) = matches.subcommand() {
            path.push(name.to_owned());
            matches = below;
        }
    }
    path.iter()
        .fold(root, |command, name| command.find_subcommand(name).cloned().unwrap_or(command))
}

/// With the examples that the command's help shows.
fn usage(command: &mut Command) -> StyledStr {
    let mut usage = command.render_usage();
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    if let Some(at) = help.find("Example") {
        // Writing to a text cannot fail.
        let _ = write!(usage, "\n\n{}", help[at..].trim_end());
    }
    usage
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_command_is_found_as_far_as_it_is_named() {
        let of = |line: &str| named::<crate::Cli>(&args(line)).get_name().to_owned();
        assert_eq!(of("millrace describe"), "describe");
        assert_eq!(of("millrace --profile list wf run --nonsense"), "run");
        assert_eq!(of("millrace keys create"), "create");
        assert_eq!(of("millrace nonsense"), "millrace");
    }

    #[test]
    fn what_the_environment_gives_is_not_shown() {
        let shown =
            usage(&mut named::<crate::Cli>(&args("millrace --url http://x describe"))).to_string();
        assert_eq!(
            shown,
            "Usage: millrace describe [OPTIONS] <NAME>\n\nExample: millrace describe my-source"
        );
    }
}
