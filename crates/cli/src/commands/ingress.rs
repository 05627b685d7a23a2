//! Ways in from outside, and who owns them in a region.

use api::{
    Nothing,
    catalog::{Cidr, RegionPath},
    ingress::{
        IngressCreate, IngressCreateBody, IngressDelete, IngressList, IngressPath, IngressRange, IngressSettingsBody,
        IngressSettingsClear, IngressSettingsSet, IngressSettingsShow, IngressShow,
    },
    tenancy::ProjectPath,
};
use clap::Subcommand;
use model::{AllocationId, IngressId, number::Port, supply::IngressProtocol, text::DisplayName};

use crate::{
    args::{Consent, Keyed, Pinned, examples, words},
    confirm::confirm,
    failure::Failure,
    resolve,
    session::{Extra, Session},
    table,
};

/// Verbs of ways in.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas ingress list --project aurora/vision"])]
pub enum IngressCommand {
    /// List a project's ways in
    #[command(after_help = examples!["gpuaas ingress list --project aurora/vision"])]
    List {
        /// Id, tenant/slug, or a slug that only one project has
        #[arg(long)]
        project: String,
    },
    /// Show a way in
    #[command(after_help = examples!["gpuaas ingress show ing_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Show {
        /// Id of the way in
        ingress: IngressId,
    },
    /// Ask for a way in to a guest; refused until an operator has set owner and range
    #[command(after_help = examples![
        "gpuaas ingress create --project aurora/vision --allocation alc_01jh2n6f4zw8q9r0s1t2v3x4y5 --guest-port 443",
    ])]
    Create {
        /// Id, tenant/slug, or a slug that only one project has
        #[arg(long)]
        project: String,
        /// To whose guest
        #[arg(long)]
        allocation: AllocationId,
        /// The guest's port
        #[arg(long, value_name = "PORT")]
        guest_port: Port,
        /// The public port [default: one that is free]
        #[arg(long, value_name = "PORT")]
        public_port: Option<Port>,
        /// What travels
        #[arg(long, default_value = "tcp", value_parser = words!(IngressProtocol))]
        protocol: IngressProtocol,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Give a way in back
    #[command(after_help = examples!["gpuaas ingress delete ing_01jh2n6f4zw8q9r0s1t2v3x4y5 --yes"])]
    Delete {
        /// Id of the way in
        ingress: IngressId,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
    },
}

/// Who owns ways in to a region.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas region ingress show eu-north"])]
pub enum SettingsCommand {
    /// Show who owns ways in to a region, and what may be used
    #[command(after_help = examples!["gpuaas region ingress show eu-north"])]
    Show {
        /// Id or slug of the region
        region: String,
    },
    /// Say who owns ways in to a region, and what may be used
    #[command(after_help = examples![
        "gpuaas region ingress set eu-north --firewall-owner 'Network team' --address-owner 'Network team' --range 203.0.113.8/29:20000-20999",
    ])]
    Set {
        /// Id or slug of the region
        region: String,
        /// Who answers for the firewall
        #[arg(long, value_name = "TEXT")]
        firewall_owner: DisplayName,
        /// Who answers for the addresses
        #[arg(long, value_name = "TEXT")]
        address_owner: DisplayName,
        /// Addresses and ports, such as 203.0.113.8/29:20000-20999; may be given several times
        #[arg(long = "range", value_name = "RANGE", required = true, value_parser = range)]
        ranges: Vec<IngressRange>,
        #[command(flatten)]
        pinned: Pinned,
    },
    /// Take that back; there must be no way in left
    #[command(after_help = examples!["gpuaas region ingress clear eu-north --yes"])]
    Clear {
        /// Id or slug of the region
        region: String,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
    },
}

fn range(text: &str) -> Result<IngressRange, String> {
    let wrong = || "expected addresses and ports such as 203.0.113.8/29:20000-20999".to_owned();
    let (addresses, ports) = text.split_once(':').ok_or_else(wrong)?;
    let (low, high) = ports.split_once('-').unwrap_or((ports, ports));
    let addresses: Cidr = addresses.parse().map_err(|error| format!("{error}"))?;
    let port = |word: &str| word.parse::<Port>().map_err(|error| error.to_string());
    Ok(IngressRange { addresses, port_min: port(low)?, port_max: port(high)? })
}

/// Carries out a verb.
pub async fn run(session: &Session, command: IngressCommand) -> Result<(), Failure> {
    match command {
        IngressCommand::List { project } => {
            let path = ProjectPath { project_id: resolve::project(session, &project).await? };
            session.print_list(&table::INGRESSES, session.list::<IngressList, _>(path).await?)
        }
        IngressCommand::Show { ingress } => {
            session.print(&session.show::<IngressShow>(IngressPath { ingress_id: ingress }).await?)
        }
        IngressCommand::Create { project, allocation, guest_port, public_port, protocol, keyed } => {
            let path = ProjectPath { project_id: resolve::project(session, &project).await? };
            let body = IngressCreateBody { allocation_id: allocation, protocol, guest_port, public_port };
            session.print(&session.send::<IngressCreate>(path, body, Extra::keyed(&keyed)).await?)
        }
        IngressCommand::Delete { ingress, consent, pinned } => {
            confirm(&consent, &format!("Give way in {ingress} back?"))?;
            let path = IngressPath { ingress_id: ingress.clone() };
            session.send::<IngressDelete>(path, Nothing {}, Extra::default().pinned(&pinned)).await?;
            session.note(&format!("way in {ingress} given back"));
            Ok(())
        }
    }
}

/// Carries out a verb of a region's settings.
pub async fn settings(session: &Session, command: SettingsCommand) -> Result<(), Failure> {
    let at = async |region: &str| Ok::<_, Failure>(RegionPath { region_id: resolve::region(session, region).await? });
    match command {
        SettingsCommand::Show { region } => {
            session.print(&session.show::<IngressSettingsShow>(at(&region).await?).await?)
        }
        SettingsCommand::Set { region, firewall_owner, address_owner, ranges, pinned } => {
            let body = IngressSettingsBody { firewall_owner, address_owner, ranges };
            let extra = Extra::default().pinned(&pinned);
            session.print(&session.send::<IngressSettingsSet>(at(&region).await?, body, extra).await?)
        }
        SettingsCommand::Clear { region, consent, pinned } => {
            confirm(&consent, &format!("Let nobody own ways in to region {region}?"))?;
            let extra = Extra::default().pinned(&pinned);
            session.send::<IngressSettingsClear>(at(&region).await?, Nothing {}, extra).await?;
            session.note(&format!("nobody owns ways in to region {region} any more"));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn ranges_are_addresses_and_ports() {
        for good in ["203.0.113.8/29:20000-20999", "203.0.113.9/32:443"] {
            assert!(range(good).is_ok(), "{good}");
        }
        for bad in ["", "203.0.113.8/29", "203.0.113.8/29:", "203.0.113.9/29:1-2", "203.0.113.8/29:0-5", "x:1-2", "1-2"]
        {
            assert!(range(bad).is_err(), "{bad}");
        }
    }
}
