//! Commands for subscriptions.

use clap::{Args, Subcommand};

/// Commands for subscriptions.
#[derive(Subcommand, Debug)]
pub enum SubscriptionCommand {
    /// Subscribe a listener to the events of an emitter
    #[command(
        alias = "create",
        after_help = "Example: millrace subscriptions add o_Qa8Ium1 error-handler '$errors'"
    )]
    Add(SubscriptionArgs),
    /// Delete a subscription
    #[command(
        after_help = "Example: millrace subscriptions delete order-mail error-handler '$errors'"
    )]
    Delete(SubscriptionArgs),
    /// List subscriptions
    #[command(after_help = "Example: millrace subscriptions list")]
    List,
}

/// What names a subscription.
#[derive(Args, Debug)]
pub struct SubscriptionArgs {
    /// Id or name of a source or workflow, an organization's id, or `p_*`, `dc_*`
    pub emitter: String,
    /// Id or name of a workflow or source, or a webhook's id
    pub listener: String,
    /// The channel, such as `$errors`; empty: the default channel
    #[arg(default_value = "")]
    pub event_name: String,
}
