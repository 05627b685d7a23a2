//! What every command does, one file a noun.

pub mod admin;
pub mod allocation;
pub mod apply;
pub mod audit;
pub mod authority;
pub mod config;
pub mod console;
pub mod database;
pub mod dev;
pub mod disk_grant;
pub mod enrollment_token;
pub mod event;
pub mod governance;
pub mod image;
pub mod import;
pub mod ingress;
pub mod lab;
pub mod launch;
pub mod local;
pub mod maas;
pub mod machine;
pub mod member;
pub mod node;
pub mod operation;
pub mod operator;
pub mod platform;
pub mod pool;
pub mod profile;
pub mod project;
pub mod proof;
pub mod queue;
pub mod raw;
pub mod region;
pub mod serve;
pub mod service_account;
pub mod sign_in;
pub mod sku;
pub mod slot;
pub mod ssh;
pub mod ssh_key;
pub mod tenant;
pub mod token;
pub mod usage;
pub mod webhook;
pub mod wipe_override;
pub mod workload;

use crate::{
    args::{Cli, Command},
    failure::Failure,
    session::Session,
};

/// Carries out what was asked.
pub async fn run(cli: Cli) -> Result<(), Failure> {
    let Cli { global, command } = cli;
    let session = || Session::open(&global);
    match command {
        Command::Launch(launch) => launch::launch(&session()?, launch).await,
        Command::Release(release) => allocation::release(&session()?, release).await,
        Command::Ssh(ssh) => ssh::ssh(&session()?, ssh).await,
        Command::Console(console) => console::console(&session()?, console).await,
        Command::Allocation(command) => allocation::run(&session()?, command).await,
        Command::Image(command) => image::run(&global, command).await,
        Command::Machine(command) => machine::run(&session()?, command).await,
        Command::Provider(command) => machine::providers(&session()?, command).await,
        Command::SshKey(command) => ssh_key::run(&session()?, command).await,
        Command::Workload(command) => workload::run(&session()?, command).await,
        Command::Usage(asked) => usage::usage(&session()?, asked).await,
        Command::Queue(command) => queue::run(&session()?, command).await,
        Command::Cohort(command) => governance::cohort(&session()?, command).await,
        Command::Flavor(command) => governance::flavor(&session()?, command).await,
        Command::PriorityClass(command) => governance::priority_class(&session()?, command).await,
        Command::HardwareProfile(command) => governance::hardware_profile(&session()?, command).await,
        Command::Governance(command) => governance::governance(&session()?, command).await,
        Command::Import(command) => import::run(&global, command).await,
        Command::SlotProfile(command) => profile::run(&session()?, command).await,
        Command::Admin(command) => admin::run(&session()?, command).await,
        Command::Tenant(command) => tenant::run(&session()?, command).await,
        Command::Project(command) => project::run(&session()?, command).await,
        Command::Member(command) => member::run(&session()?, command).await,
        Command::ServiceAccount(command) => service_account::run(&session()?, command).await,
        Command::Operator(command) => operator::run(&session()?, command).await,
        Command::Token(command) => token::run(&session()?, command).await,
        Command::Region(command) => region::run(&session()?, command).await,
        Command::Pool(command) => pool::run(&session()?, command).await,
        Command::Sku(command) => sku::run(&session()?, command).await,
        Command::Node(command) => node::run(&session()?, command).await,
        Command::Slot(command) => slot::run(&session()?, command).await,
        Command::Proof(command) => proof::run(&global, command).await,
        Command::Override(command) => wipe_override::run(&session()?, command).await,
        Command::Ingress(command) => ingress::run(&session()?, command).await,
        Command::DiskGrant(command) => disk_grant::run(&session()?, command).await,
        Command::EnrollmentToken(command) => enrollment_token::run(&session()?, command).await,
        Command::Availability => platform::availability(&session()?).await,
        Command::Operation(command) => operation::run(&session()?, command).await,
        Command::Event(command) => event::run(&session()?, command).await,
        Command::Webhook(command) => webhook::run(&session()?, command).await,
        Command::Audit(command) => audit::run(&session()?, command).await,
        Command::Status => platform::status(&session()?).await,
        Command::Waits => platform::waits(&session()?).await,
        Command::Whoami => platform::whoami(&session()?).await,
        Command::Apply(apply) => apply::apply(&session()?, apply).await,
        Command::Serve(serve) => serve::serve(&global, serve).await,
        Command::Dev(dev) => dev::dev(&global, dev).await,
        Command::Lab(command) => lab::run(&global, command),
        Command::Authority(command) => authority::run(&global, command),
        Command::Verify(verify) => database::verify(&global, &verify).await,
        Command::Bootstrap(bootstrap) => database::bootstrap(&global, &bootstrap).await,
        Command::Explain(explain) => local::explain(&global, &explain),
        Command::Login(login) => config::login(&global, &login).await,
        Command::Config(command) => config::run(&global, command),
        Command::Api(command) => raw::run(&session()?, command).await,
        Command::Completion(completion) => local::completion(&completion),
        Command::Man(man) => local::man(&global, &man),
        Command::Version => local::version(&global),
    }
}
