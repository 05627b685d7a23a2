//! How a control plane reaches a MAAS server, and what it has installed there.

use clap::{Args, ValueEnum};
use control::{
    Ports,
    authority::Authority,
    providers::{self, AgentSettings, Install, Provider},
};
use machines::{
    Erase,
    maas::{ApiKey, Limits, Maas, Settings, Signing},
};
use std::{path::PathBuf, sync::Arc};

use crate::failure::Failure;

/// How disks are erased when a machine changes hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EraseHow {
    // By the disk's own secure erase, or by overwriting all of it.
    Secure,
    // The first and last 2 MiB of each disk.
    Quick,
    // Not at all; each slot is still wiped and proved by its agent.
    None,
}

/// Whole machines from MAAS.
#[derive(Debug, Args)]
#[command(next_help_heading = "Whole machines (MAAS)")]
pub struct MaasArgs {
    /// The MAAS server, such as https://maas.example:5443/MAAS; without it no machine is handed to a tenant
    #[arg(long, value_name = "URL", requires_all = ["maas_key_file", "agents_listen"])]
    maas_url: Option<String>,
    /// The file with the API key of the platform's MAAS user
    #[arg(long, value_name = "FILE", requires = "maas_url")]
    maas_key_file: Option<PathBuf>,
    /// What nodes call it: they are NAME/system-id
    #[arg(long, default_value = "maas", value_name = "NAME")]
    maas_name: String,
    /// Certificates to trust besides the system's, in PEM, for a MAAS with a private authority
    #[arg(long, value_name = "FILE", requires = "maas_url")]
    maas_ca_file: Option<PathBuf>,
    /// What tenants get, as system/release
    #[arg(long, default_value = "ubuntu/noble", value_name = "IMAGE")]
    maas_tenant_image: String,
    /// What the platform's own hosts are installed with, as system/image; it must have the agent in it
    #[arg(long, default_value = "custom/gpuaas-host", value_name = "IMAGE")]
    maas_host_image: String,
    /// Where those hosts reach this control plane [default: https:// and the first --agents-name, with the port]
    #[arg(long, value_name = "URL", requires = "maas_url")]
    maas_agents_url: Option<String>,
    /// How disks are erased when a machine changes hands
    #[arg(long, default_value = "secure", value_name = "HOW")]
    maas_erase: EraseHow,
}

impl MaasArgs {
    /// The provider that was asked for, if one was.
    pub fn provider(
        self,
        ports: &Ports,
        authority: Option<&Arc<Authority>>,
        agents_url: Option<&str>,
    ) -> Result<Option<Provider>, Failure> {
        let (Some(url), Some(key_file)) = (self.maas_url, self.maas_key_file) else { return Ok(None) };
        let usage = |error: &dyn std::fmt::Display| Failure::Usage(format!("--maas-*: {error}"));
        let read = |path: &PathBuf| {
            std::fs::read(path).map_err(|error| Failure::Local(format!("cannot read {}: {error}", path.display())))
        };
        let key: ApiKey = String::from_utf8_lossy(&read(&key_file)?).trim().parse().map_err(|error| usage(&error))?;
        let extra_roots_pem = self.maas_ca_file.as_ref().map(read).transpose()?.unwrap_or_default();
        let (clock, entropy) = (ports.clone(), ports.clone());
        let signing = Signing::new(
            move || clock.now(),
            move || entropy.id_bits().iter().map(|byte| format!("{byte:02x}")).collect(),
        );
        let limits = Limits::default();
        let settings = Settings { url: url.clone(), key, plain_http_allowed: false, extra_roots_pem, limits };
        let maas = Maas::new(&settings, signing).map_err(|error| usage(&error))?;
        let authority = authority.ok_or_else(|| usage(&"it needs --authority"))?;
        let agents_url =
            self.maas_agents_url.as_deref().or(agents_url).ok_or_else(|| usage(&"it needs --agents-listen"))?;
        Ok(Some(Provider {
            slug: providers::checked_slug(&self.maas_name).map_err(|error| usage(&error))?,
            kind: "maas".to_owned(),
            address: url,
            machines: Arc::new(maas),
            host: install(&self.maas_host_image)?,
            agents: AgentSettings::new(agents_url, &authority.sha256()).map_err(|error| usage(&error))?,
            tenant: install(&self.maas_tenant_image)?,
            erase: match self.maas_erase {
                EraseHow::Secure => Erase::Secure,
                EraseHow::Quick => Erase::Quick,
                EraseHow::None => Erase::None,
            },
        }))
    }
}

fn install(text: &str) -> Result<Install, Failure> {
    let parts = text.split_once('/').filter(|(system, image)| !system.is_empty() && !image.is_empty());
    let (system, image) = parts.ok_or_else(|| {
        Failure::Usage(format!("an image was expected to be written as system/image, but is `{text}`"))
    })?;
    Ok(Install { system: system.to_owned(), image: image.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_a_system_and_a_name() {
        assert_eq!(
            install("ubuntu/noble").ok(),
            Some(Install { system: "ubuntu".to_owned(), image: "noble".to_owned() })
        );
        for bad in ["", "noble", "/noble", "ubuntu/"] {
            assert!(install(bad).is_err(), "{bad}");
        }
    }
}
