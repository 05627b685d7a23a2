//! How people sign in to a control plane from a browser: where browsers find it, and the identity provider they come
//! through.

use clap::Args;
use control::sign_in::{Oidc, OidcSettings, Rules, SignIn, Site};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{commands::apply::file::options, failure::Failure};

/// Browsers, and the identity provider.
#[derive(Debug, Args)]
#[command(next_help_heading = "People in browsers")]
pub struct SignInArgs {
    /// Where browsers find this platform, such as https://gpuaas.example; with https, cookies travel encrypted only
    #[arg(long, value_name = "URL", env = "GPUAAS_PUBLIC_URL")]
    public_url: Option<String>,
    /// The identity provider that people sign in through, by the issuer that it calls itself; plain http only on this machine
    #[arg(long, value_name = "URL", requires_all = ["oidc_client_id", "oidc_rules", "public_url"])]
    oidc_issuer: Option<String>,
    /// What the identity provider knows this platform as
    #[arg(long, value_name = "ID", requires = "oidc_issuer")]
    oidc_client_id: Option<String>,
    /// The file with the secret that this platform shows the identity provider [default: none, a public client]
    #[arg(long, value_name = "FILE", requires = "oidc_issuer")]
    oidc_client_secret_file: Option<PathBuf>,
    /// What people know the identity provider as
    #[arg(long, default_value = "single sign-on", value_name = "NAME")]
    oidc_name: String,
    /// The file that says which group has which role, in YAML
    #[arg(long, value_name = "FILE", requires = "oidc_issuer")]
    oidc_rules: Option<PathBuf>,
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::Local(format!("cannot read {}: {error}", path.display())))
}

/// The rules in a file.
fn rules(path: &Path) -> Result<Rules, Failure> {
    let bad = |error: String| Failure::Usage(format!("{}: {error}", path.display()));
    let rules: Rules = serde_saphyr::from_str_with_options(&read(path)?, options()).map_err(|e| bad(e.to_string()))?;
    rules.check().map_err(|error| bad(error.to_string()))?;
    Ok(rules)
}

impl SignInArgs {
    /// The ways that were asked for.
    pub fn ways(self) -> Result<SignIn, Failure> {
        let bad = |error: &dyn std::fmt::Display| Failure::Usage(error.to_string());
        let site = match &self.public_url {
            Some(address) => Site::at(address).map_err(|error| bad(&error))?,
            None => Site::default(),
        };
        let (Some(issuer), Some(client_id), Some(file)) = (self.oidc_issuer, self.oidc_client_id, &self.oidc_rules)
        else {
            return Ok(SignIn { site, oidc: None });
        };
        let secret = self.oidc_client_secret_file.as_deref().map(read).transpose()?;
        let settings = OidcSettings {
            issuer,
            client_id,
            client_secret: secret.map(|text| text.trim_end_matches(['\r', '\n']).to_owned()),
            name: self.oidc_name,
            rules: rules(file)?,
        };
        let oidc = Oidc::new(settings, &site).map_err(|error| bad(&error))?;
        Ok(SignIn { site, oidc: Some(Arc::new(oidc)) })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        sign_in: SignInArgs,
    }

    fn ways(rules: &str, arguments: &[&str]) -> Result<SignIn, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rules.yaml");
        std::fs::write(&file, rules).unwrap();
        let file = file.to_str().unwrap();
        let line = ["gpuaas"].iter().chain(arguments).map(|word| if *word == "RULES" { file } else { *word });
        Line::try_parse_from(line).unwrap().sign_in.ways()
    }

    const GOOD: &str = "rules:\n- group: ops\n  operator: platform_operator\n";
    const PROVIDER: [&str; 8] = [
        "--oidc-issuer",
        "https://id.example",
        "--oidc-client-id",
        "us",
        "--oidc-rules",
        "RULES",
        "--public-url",
        "https://gpuaas.example",
    ];

    #[test]
    fn a_provider_needs_rules_that_can_be_read() {
        assert!(ways(GOOD, &PROVIDER).unwrap().oidc.is_some());
        assert!(ways("", &[]).unwrap().oidc.is_none());
        for bad in ["rules:\n- group: ops\n", "rules:\n- grup: ops\n  operator: platform_operator\n", "{}", "rules: 7"]
        {
            assert!(matches!(ways(bad, &PROVIDER), Err(Failure::Usage(_))), "{bad}");
        }
    }

    #[test]
    fn a_provider_needs_to_know_where_to_send_browsers_back_to() {
        assert!(Line::try_parse_from(["gpuaas", "--oidc-issuer", "https://id.example"]).is_err());
        let plain = PROVIDER.map(|word| if word == "https://id.example" { "http://id.example" } else { word });
        assert!(matches!(ways(GOOD, &plain), Err(Failure::Usage(_))), "plain http to another machine");
        assert!(matches!(ways("", &["--public-url", "gpuaas.example"]), Err(Failure::Usage(_))));
    }
}
