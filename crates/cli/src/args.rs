//! The command line: global options, what several commands share, and the tree of nouns and verbs. What a command does is in
//! [`crate::commands`]; here is only what it may be asked.

use clap::{Args, Parser, Subcommand};
use std::time::Duration;

use crate::{
    commands::{
        admin::AdminCommand,
        allocation::AllocationCommand,
        audit::AuditCommand,
        config::ConfigCommand,
        disk_grant::DiskGrantCommand,
        enrollment_token::EnrollmentTokenCommand,
        event::EventCommand,
        governance::{CohortCommand, FlavorCommand, GovernanceCommand, HardwareProfileCommand, PriorityClassCommand},
        image::ImageCommand,
        import::ImportCommand,
        ingress::IngressCommand,
        local,
        machine::{MachineCommand, ProviderCommand},
        member::MemberCommand,
        node::NodeCommand,
        operation::OperationCommand,
        operator::OperatorCommand,
        pool::PoolCommand,
        profile::ProfileCommand,
        project::ProjectCommand,
        proof::ProofCommand,
        queue::QueueCommand,
        region::RegionCommand,
        service_account::ServiceAccountCommand,
        sku::SkuCommand,
        slot::SlotCommand,
        ssh_key::SshKeyCommand,
        tenant::TenantCommand,
        token::TokenCommand,
        webhook::WebhookCommand,
        wipe_override::OverrideCommand,
        workload::WorkloadCommand,
    },
    output::{Color, Format},
};

/// Lines of examples at the end of a command's help.
macro_rules! examples {
    ($($line:literal),+ $(,)?) => { concat!("Examples:\n", $("  ", $line, "\n"),+) };
}
pub(crate) use examples;

/// A parser for a list of fixed words, which help and completions then show.
macro_rules! words {
    ($kind:ty) => {
        clap::builder::TypedValueParser::try_map(
            clap::builder::PossibleValuesParser::new(<$kind>::ALL.iter().map(|word| word.as_str())),
            |word| word.parse::<$kind>(),
        )
    };
}
pub(crate) use words;

/// Sell, place and run GPUs: bare-metal nodes and slices of them.
#[derive(Debug, Parser)]
#[command(
    name = "gpuaas",
    version,
    arg_required_else_help = true,
    max_term_width = 110,
    after_help = examples![
        "gpuaas dev",
        "gpuaas login --url http://127.0.0.1:7070",
        "gpuaas launch trainer --project aurora/vision --sku h200-sxm-slice --gpus 2 --region eu-north",
        "gpuaas allocation list -o json",
        "gpuaas explain quota_exceeded",
    ]
)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// The server [default: the profile's, else http://127.0.0.1:7070]
    #[arg(long, global = true, env = "GPUAAS_URL", hide_env_values = true, value_name = "URL")]
    pub url: Option<String>,
    /// The token to send; prefer the environment or a profile, which other users of the machine cannot list
    #[arg(long, global = true, env = "GPUAAS_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub token: Option<String>,
    /// The profile of the configuration file to use
    #[arg(long, global = true, env = "GPUAAS_PROFILE", hide_env_values = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// How to write data; json and yaml are the objects of the API
    #[arg(short, long, global = true, default_value = "table", value_name = "FORMAT")]
    pub output: Format,
    /// When to colour
    #[arg(long, global = true, default_value = "auto", value_name = "WHEN")]
    pub color: Color,
    /// No progress and no notes on standard error
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print every HTTP request on standard error before it is sent, with the token masked
    #[arg(long, global = true)]
    pub explain: bool,
}

/// For verbs that take something away.
#[derive(Debug, Clone, Args)]
pub struct Consent {
    /// Do not ask; needed when nobody is at the terminal
    #[arg(short, long)]
    pub yes: bool,
}

/// For verbs that start long work.
#[derive(Debug, Clone, Args)]
pub struct Waiting {
    /// Wait until the work has ended (the default)
    #[arg(long, overrides_with = "no_wait")]
    pub wait: bool,
    /// Print the operation at once and leave the work to the platform
    #[arg(long)]
    pub no_wait: bool,
    /// How long to wait at most; after that the command ends with code 8 and the work goes on
    #[arg(long, default_value = "20m", value_name = "TIME", value_parser = crate::waiting::duration)]
    pub timeout: Duration,
}

/// For verbs that create or act.
#[derive(Debug, Clone, Default, Args)]
pub struct Keyed {
    /// Repeating a command with the same key gives the same answer and is done only once [default: a new key]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

/// For verbs that change or end something.
#[derive(Debug, Clone, Default, Args)]
pub struct Pinned {
    /// Only if the thing still has this version [default: the version it has now]
    #[arg(long, value_name = "N")]
    pub if_version: Option<i64>,
}

/// The nouns, and the verbs people expect without one.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask for GPUs
    Launch(crate::commands::launch::Launch),
    /// Stop allocations, wipe them and give them back
    Release(crate::commands::allocation::Release),
    /// Sign in to what you launched
    Ssh(crate::commands::ssh::Ssh),
    /// The serial console of what you launched
    Console(crate::commands::console::Console),
    /// What you hold: allocations
    #[command(subcommand, visible_alias = "alloc")]
    Allocation(AllocationCommand),
    /// What waits in queues and starts as a whole: workloads
    #[command(subcommand)]
    Workload(WorkloadCommand),
    /// What guests are made of: images, and the keys that sign them
    #[command(subcommand)]
    Image(ImageCommand),
    /// Who may sign in to what you launch: public keys
    #[command(subcommand)]
    SshKey(SshKeyCommand),
    /// What a project held, and what it comes to
    Usage(crate::commands::usage::Usage),
    /// Organisations: tenants
    #[command(subcommand)]
    Tenant(TenantCommand),
    /// Where a tenant works: projects
    #[command(subcommand)]
    Project(ProjectCommand),
    /// Who works where: members
    #[command(subcommand)]
    Member(MemberCommand),
    /// Programs that act for a tenant: service accounts
    #[command(subcommand)]
    ServiceAccount(ServiceAccountCommand),
    /// Who runs the platform: operators
    #[command(subcommand)]
    Operator(OperatorCommand),
    /// API tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// Where capacity is: regions
    #[command(subcommand)]
    Region(RegionCommand),
    /// Nodes of one kind in a region: pools
    #[command(subcommand)]
    Pool(PoolCommand),
    /// What is sold: SKUs
    #[command(subcommand)]
    Sku(SkuCommand),
    /// Who waits where: queues
    #[command(subcommand)]
    Queue(QueueCommand),
    /// Queues that lend to each other: cohorts
    #[command(subcommand)]
    Cohort(CohortCommand),
    /// Kinds of GPUs that quota is given in: flavors
    #[command(subcommand)]
    Flavor(FlavorCommand),
    /// Priorities by name: priority classes
    #[command(subcommand)]
    PriorityClass(PriorityClassCommand),
    /// What people choose hardware by: hardware profiles
    #[command(subcommand)]
    HardwareProfile(HardwareProfileCommand),
    /// Who may have how much: all objects of governance together
    #[command(subcommand)]
    Governance(GovernanceCommand),
    /// Read how another system is set up
    #[command(subcommand)]
    Import(ImportCommand),
    /// What one slot of a kind is made of: slot profiles
    #[command(subcommand, visible_alias = "profile")]
    SlotProfile(ProfileCommand),
    /// Where allocations are and why, how full pools are, and claims, for operators
    #[command(subcommand)]
    Admin(AdminCommand),
    /// GPU hosts: nodes, what is on them, and what operators want of them
    #[command(subcommand)]
    Node(NodeCommand),
    /// Whole machines, as their providers show them
    #[command(subcommand)]
    Machine(MachineCommand),
    /// Who provides whole machines: providers
    #[command(subcommand)]
    Provider(ProviderCommand),
    /// What can be sold on a node: slots
    #[command(subcommand)]
    Slot(SlotCommand),
    /// Evidence that slots were wiped: proofs
    #[command(subcommand)]
    Proof(ProofCommand),
    /// Slots that two operators let go on without a proof: overrides
    #[command(subcommand)]
    Override(OverrideCommand),
    /// Ways in to guests from outside: ingress
    #[command(subcommand)]
    Ingress(IngressCommand),
    /// Disks whose content may go: disk grants
    #[command(subcommand)]
    DiskGrant(DiskGrantCommand),
    /// What brings hosts in: one-time enrollment tokens
    #[command(subcommand)]
    EnrollmentToken(EnrollmentTokenCommand),
    /// What can be had now, by region and GPU
    #[command(after_help = examples!["gpuaas availability", "gpuaas availability -o json"])]
    Availability,
    /// Long work started by a request: operations
    #[command(subcommand)]
    Operation(OperationCommand),
    /// What happened: events
    #[command(subcommand)]
    Event(EventCommand),
    /// Where events are sent: webhooks
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Who did what: the audit trail
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Bring the platform to what a file describes
    Apply(crate::commands::apply::Apply),
    /// Who leads and how far the records have come
    #[command(after_help = examples!["gpuaas status", "gpuaas status -o json"])]
    Status,
    /// What waits, most overdue first, and why
    #[command(after_help = examples!["gpuaas waits", "gpuaas waits -o json"])]
    Waits,
    /// Who you are and what your token may do
    #[command(after_help = examples!["gpuaas whoami", "GPUAAS_PROFILE=lab gpuaas whoami -o yaml"])]
    Whoami,
    /// Run a replica of the control plane
    Serve(crate::commands::serve::Serve),
    /// Run a whole platform with a simulated fleet on this machine, to try things on
    Dev(crate::commands::dev::Dev),
    /// Try policies on work that was really done: the policy lab
    #[command(subcommand, after_help = examples!["gpuaas lab run --trace philly.csv --policies fifo,fair,gpuaas --out report.html"])]
    Lab(crate::commands::lab::LabCommand),
    /// The key that signs nodes' certificates
    #[command(subcommand, after_help = examples!["gpuaas authority init /etc/gpuaas/authority"])]
    Authority(crate::commands::authority::AuthorityCommand),
    /// Check every rule that must always hold against a store, live or not
    Verify(crate::commands::database::Verify),
    /// Create the first operator of a new store and print its token
    Bootstrap(crate::commands::database::Bootstrap),
    /// What a problem code means and what to do about it
    Explain(local::Explain),
    /// Save a server and a token as a profile
    Login(crate::commands::config::Login),
    /// Profiles and where they are kept
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Send a request by hand
    #[command(subcommand)]
    Api(crate::commands::raw::RawCommand),
    /// Print a completion script for a shell
    Completion(local::Completion),
    /// Write the manual pages
    Man(local::Man),
    /// The version of this program
    #[command(after_help = examples!["gpuaas version", "gpuaas version -o json"])]
    Version,
}
