//! Arguments that stand by their place: an empty one, such as of a variable that is not set, is
//! refused.

use std::any::TypeId;

use clap::{Arg, Command};

/// Texts that may be empty: a value, and the default channel.
const MAY_BE_EMPTY: [&str; 2] = ["value", "event_name"];

/// A command line that refuses empty names, ids and paths. Without this an empty one would mean
/// another thing than the one that was meant, or would reach the server as a part of a path.
pub fn refuse_empty(command: Command) -> Command {
    command.mut_args(filled).mut_subcommands(refuse_empty)
}

fn filled(arg: Arg) -> Arg {
    let is_text = arg.get_value_parser().type_id() == TypeId::of::<String>()
        && arg.get_possible_values().is_empty();
    let may_be_empty = MAY_BE_EMPTY.contains(&arg.get_id().as_str());
    if arg.is_positional() && is_text && !may_be_empty { arg.value_parser(text) } else { arg }
}

fn text(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("it is empty") } else { Ok(text.to_owned()) }
}
