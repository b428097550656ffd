//! Commands for webhooks.

use clap::Subcommand;

/// Commands for webhooks.
#[derive(Subcommand, Debug)]
pub enum WebhookCommand {
    /// List webhooks
    #[command(visible_alias = "ls", after_help = "Example: millrace webhooks list")]
    List,
    /// Create a webhook; its secret is shown only once
    #[command(
        alias = "create",
        after_help = "Example: millrace webhooks add https://example.com/hook --name orders, then millrace subscriptions add order-mail wh_…"
    )]
    Add {
        /// Where events are sent; its user and password are kept secret and shown as `***`
        #[arg(value_name = "URL")]
        address: String,
        /// Its name
        #[arg(long)]
        name: Option<String>,
        /// What it is for
        #[arg(long)]
        description: Option<String>,
    },
    /// Show a webhook
    #[command(after_help = "Example: millrace webhooks show wh_Qa8Ium1")]
    Show {
        /// The webhook's id
        id: String,
    },
    /// Delete a webhook with its subscriptions
    #[command(after_help = "Example: millrace webhooks delete wh_Qa8Ium1")]
    Delete {
        /// The webhook's id
        id: String,
    },
    /// List deliveries, sent or due, newest first; failed ones are dead letters
    #[command(after_help = "Example: millrace webhooks deliveries wh_Qa8Ium1 --status failed")]
    Deliveries {
        /// The webhook's id
        id: String,
        /// Only those in this state
        #[arg(long, value_parser = ["queued", "delivered", "failed"])]
        status: Option<String>,
        /// How many
        #[arg(short, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        n: u32,
    },
    /// Show a delivery: body, headers of its last attempt, and each attempt with its answer
    #[command(after_help = "Example: millrace webhooks delivery wh_Qa8Ium1 whd_3MPlbwmo")]
    Delivery {
        /// The webhook's id
        id: String,
        /// The delivery's id
        delivery: String,
    },
    /// Send a delivery again, or without one every dead letter
    #[command(
        after_help = "Examples:\n  millrace webhooks replay wh_Qa8Ium1\n  millrace webhooks replay wh_Qa8Ium1 whd_3MPlbwmo"
    )]
    Replay {
        /// The webhook's id
        id: String,
        /// A delivery's id
        delivery: Option<String>,
    },
}
