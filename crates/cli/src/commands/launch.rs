//! Launching: the plan with its price first, then a question, then the wish, then every step until it runs.

use api::{
    allocation::{AllocationLaunch, AllocationLaunchBody, SSH_KEYS_MAX},
    governance::{HardwareProfilePath, HardwareProfileShow},
    placement::{AllocationPlan, PlanView},
    ssh_key::SshKeyList,
    tenancy::ProjectPath,
};
use clap::Args;
use model::{
    SshKeyId,
    allocation::{Label, Labels, PlacementWishes},
    guest::{USER_DATA_BYTES_MAX, UserData},
    number::{GpuCount, MaxRunS},
    placement::{CoTenancy, Spread},
    text::{ImageName, Slug},
    time::UtcTime,
    workload::IfUnavailable,
};
use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use crate::{
    args::{Consent, Keyed, Waiting, examples, words},
    confirm::confirm,
    failure::Failure,
    resolve, safe,
    session::{Extra, Session},
    waiting,
};

/// What to launch.
#[derive(Debug, Args)]
#[command(after_help = examples![
    "gpuaas launch trainer --project aurora/vision --sku h200-sxm-slice --gpus 2 --region eu-north --ssh-key laptop",
    "gpuaas launch trainer --project aurora/vision --sku h200-sxm-slice --gpus 4 --region eu-north --dry-run",
    "gpuaas launch web --project aurora/vision --sku h200-sxm-slice --gpus 1 --region eu-north --image debian-12 --user-data cloud.yaml",
    "gpuaas launch node --project aurora/vision --sku h200-sxm-baremetal --gpus 8 --region eu-north --yes --no-wait -o json",
    "gpuaas launch web-1 --project aurora/vision --sku h200-sxm-slice --gpus 1 --region eu-north --group web --spread require --yes",
    "gpuaas launch trainer --project aurora/vision --sku h200-sxm-slice --gpus 2 --region eu-north --queue main --priority-class urgent --max-run 2h",
    "gpuaas launch trainer --project aurora/vision --hardware-profile any-gpu --gpus 4 --region eu-north",
])]
pub struct Launch {
    #[command(flatten)]
    wish: Wish,
    /// Only show what would happen, here and elsewhere, and what it would cost
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    waiting: Waiting,
    #[command(flatten)]
    keyed: Keyed,
}

/// What is wanted, alone or as each member of a workload.
#[derive(Debug, Args)]
pub(super) struct Wish {
    /// A name for it; need not be unique
    pub(super) name: Slug,
    /// Id, tenant/slug, or a slug that only one project has
    #[arg(long)]
    pub(super) project: String,
    /// Id or slug of the SKU
    #[arg(long, required_unless_present = "hardware_profile")]
    sku: Option<String>,
    /// By what the hardware is chosen instead of a SKU: any flavor of the profile may serve
    #[arg(long, value_name = "PROFILE", conflicts_with = "sku")]
    hardware_profile: Option<Slug>,
    /// How many GPUs; one of the SKU's counts [default: the usual count of the hardware profile]
    #[arg(long, value_name = "N", required_unless_present = "hardware_profile")]
    gpus: Option<GpuCount>,
    /// Id or slug of the region
    #[arg(long)]
    region: String,
    /// Id or name of a public key of the project; give it again for more [default: all of the project's]
    #[arg(long = "ssh-key", value_name = "KEY")]
    ssh_keys: Vec<String>,
    /// Launch it without any key: only for a whole machine whose user data lets somebody in
    #[arg(long, conflicts_with = "ssh_keys")]
    no_ssh_key: bool,
    /// What it is made of, by its name in the catalogue [default: the platform's]
    #[arg(long)]
    image: Option<ImageName>,
    /// A file with what cloud-init is to do in the guest besides; 32 KiB at most
    #[arg(long, value_name = "PATH")]
    user_data: Option<PathBuf>,
    /// A word to find it by; give it again for more
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<Label>,
    /// Only in this pool: id or slug
    #[arg(long)]
    pool: Option<String>,
    /// The group of the project that it belongs to
    #[arg(long)]
    group: Option<Slug>,
    /// How it lies to the others of its group
    #[arg(long, default_value = "none", value_parser = words!(Spread))]
    spread: Spread,
    /// Whose slices may be on the same node
    #[arg(long, default_value = "any", value_parser = words!(CoTenancy))]
    co_tenancy: CoTenancy,
    /// When it is given back by itself, in UTC [default: never]
    #[arg(long, value_name = "TIME")]
    lease_ends_at: Option<UtcTime>,
    /// It may be stopped and launched again elsewhere when its node is evacuated
    #[arg(long)]
    may_recreate: bool,
    /// What to do when it cannot start at once [default: queue where the project has a queue]
    #[arg(long, value_name = "WHAT", value_parser = words!(IfUnavailable))]
    if_unavailable: Option<IfUnavailable>,
    /// The queue of the project that it goes through [default: the project's default]
    #[arg(long, value_name = "QUEUE")]
    queue: Option<Slug>,
    /// The class that its priority comes from [default: the platform's default]
    #[arg(long, value_name = "CLASS")]
    priority_class: Option<Slug>,
    /// How long it runs at most from its admission, a minute to a year [default: for ever]
    #[arg(long, value_name = "TIME", value_parser = max_run)]
    max_run: Option<MaxRunS>,
}

/// How long work runs at most, as people write it.
fn max_run(text: &str) -> Result<MaxRunS, String> {
    let seconds = i64::try_from(waiting::duration(text)?.as_secs()).unwrap_or(i64::MAX);
    MaxRunS::try_from(seconds).map_err(|_| "expected from 60s to 365d".to_owned())
}

/// A label as people write it.
pub(super) fn label(text: &str) -> Result<Label, String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok(Label {
        key: key.parse().map_err(|error: model::text::BadText| format!("{key}: {error}"))?,
        value: value.parse().map_err(|error: model::text::BadText| format!("{value}: {error}"))?,
    })
}

/// The wish as the API takes it. Whether it `needs_keys` says whether the project must have a public key.
pub(super) async fn body(
    session: &Session,
    path: &ProjectPath,
    wish: &Wish,
    needs_keys: bool,
) -> Result<AllocationLaunchBody, Failure> {
    let pool_id = match &wish.pool {
        Some(pool) => Some(resolve::pool(session, pool).await?),
        None => None,
    };
    let labels = Labels::try_from(wish.labels.clone()).map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(AllocationLaunchBody {
        name: wish.name.clone(),
        sku_id: match &wish.sku {
            Some(sku) => Some(resolve::sku(session, sku).await?),
            None => None,
        },
        hardware_profile: wish.hardware_profile.clone(),
        gpu_count: gpu_count(session, wish).await?,
        region_id: resolve::region(session, &wish.region).await?,
        ssh_key_ids: keys(session, path, wish, needs_keys).await?,
        image: wish.image.clone(),
        user_data: wish.user_data.as_deref().map(user_data).transpose()?,
        labels,
        placement: PlacementWishes {
            pool_id,
            group: wish.group.clone(),
            spread: wish.spread,
            co_tenancy: wish.co_tenancy,
        },
        lease_ends_at: wish.lease_ends_at,
        may_recreate: wish.may_recreate,
        if_unavailable: wish.if_unavailable,
        queue: wish.queue.clone(),
        priority_class: wish.priority_class.clone(),
        max_run_s: wish.max_run,
    })
}

/// How many GPUs are asked for, or are usual for the hardware profile.
async fn gpu_count(session: &Session, wish: &Wish) -> Result<GpuCount, Failure> {
    match (wish.gpus, &wish.hardware_profile) {
        (Some(gpus), _) => Ok(gpus),
        (None, Some(profile)) => {
            let path = HardwareProfilePath { hardware_profile: profile.clone() };
            Ok(session.show::<HardwareProfileShow>(path).await?.spec.gpu_count_default)
        }
        (None, None) => Err(Failure::Usage("say how many GPUs with --gpus".to_owned())),
    }
}

/// What stands in a file for cloud-init.
fn user_data(path: &Path) -> Result<UserData, Failure> {
    let cannot = |why: String| Failure::Usage(format!("cannot use {}: {why}", path.display()));
    let mut text = String::new();
    let file = File::open(path).map_err(|error| cannot(error.to_string()))?;
    // One more than may be, so that a longer file is not cut short unnoticed.
    let room = u64::try_from(USER_DATA_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    file.take(room).read_to_string(&mut text).map_err(|error| cannot(error.to_string()))?;
    UserData::try_from(text).map_err(|error| cannot(error.to_string()))
}

/// Public keys of the project by id or name; all of them when none is named, since nobody could sign in without.
async fn keys(session: &Session, path: &ProjectPath, wish: &Wish, needs_keys: bool) -> Result<Vec<SshKeyId>, Failure> {
    if wish.no_ssh_key {
        return Ok(vec![]);
    }
    if wish.ssh_keys.is_empty() {
        let all = session.list::<SshKeyList, _>(path.clone()).await?;
        let names: Vec<&str> = all.iter().map(|key| key.name.as_str()).collect();
        return match all.len() {
            // A plan needs none.
            0 if !needs_keys => Ok(vec![]),
            0 => Err(Failure::Conflict(format!(
                "nobody could sign in: the project has no public key; add one with `gpuaas ssh-key add NAME --project {} --file ~/.ssh/id_ed25519.pub`",
                wish.project
            ))),
            1..=SSH_KEYS_MAX => {
                session.note(&safe::line(&format!("keys of the project that may sign in: {}", names.join(", "))));
                Ok(all.into_iter().map(|key| key.id).collect())
            }
            many => Err(Failure::Usage(format!(
                "the project has {many} public keys and a launch takes {SSH_KEYS_MAX}; name them with --ssh-key"
            ))),
        };
    }
    let mut found = Vec::with_capacity(wish.ssh_keys.len());
    let mut known = None;
    for name in &wish.ssh_keys {
        if let Ok(id) = name.parse() {
            found.push(id);
            continue;
        }
        if known.is_none() {
            known = Some(session.list::<SshKeyList, _>(path.clone()).await?);
        }
        let key = known.iter().flatten().find(|key| key.name.as_str() == name);
        let key = key.ok_or_else(|| Failure::NotFound(format!("the project has no public key called `{name}`")))?;
        found.push(key.id.clone());
    }
    Ok(found)
}

/// Asks for GPUs.
pub async fn launch(session: &Session, launch: Launch) -> Result<(), Failure> {
    let path = ProjectPath { project_id: resolve::project(session, &launch.wish.project).await? };
    let body = body(session, &path, &launch.wish, !launch.dry_run).await?;
    if launch.dry_run {
        let plan = session.send::<AllocationPlan>(path, body, Extra::default()).await?;
        return session.print(&plan);
    }
    if !launch.consent.yes {
        let plan = session.send::<AllocationPlan>(path.clone(), body.clone(), Extra::default()).await?;
        session.note(&told(&launch.wish, body.gpu_count, &plan));
        confirm(&launch.consent, question(&plan))?;
    }
    let operation = session.send::<AllocationLaunch>(path, body, Extra::keyed(&launch.keyed)).await?;
    session.follow_and_print(operation, &launch.waiting).await
}

fn question(plan: &PlanView) -> &'static str {
    if plan.admitted && plan.fits { "Launch it?" } else { "Launch it all the same?" }
}

/// A plan in a few lines.
fn told(wish: &Wish, gpus: GpuCount, plan: &PlanView) -> String {
    let sold_as = wish.sku.as_deref().or(wish.hardware_profile.as_ref().map(Slug::as_str)).unwrap_or_default();
    let mut lines = vec![
        format!(
            "{}: {} × {} as {}, {} vCPUs, {} MiB, in {}",
            wish.name, gpus, plan.gpu_model, sold_as, plan.vcpus, plan.memory_mib, wish.region
        ),
        format!(
            "{} an hour, {} for 730 hours",
            money(plan.price.micros_per_hour),
            money(plan.price.micros_per_730_hours)
        ),
        plan.projected.clone(),
    ];
    if !plan.fits {
        let fitting = plan.elsewhere.iter().filter(|other| other.fits);
        lines.extend(fitting.map(|other| {
            let (count, price) = (other.gpu_count, money(other.price.micros_per_hour));
            format!("it would fit in {} as {} × {count}, {price} an hour", other.region, other.sku)
        }));
    }
    lines.iter().map(|line| safe::line(line).into_owned()).collect::<Vec<_>>().join("\n")
}

/// Millionths as units with two decimals, rounded up: nobody is told less than they will pay.
fn money(micros: i64) -> String {
    const CENT: i64 = 10_000;
    let cents = micros / CENT + i64::from(micros % CENT > 0);
    format!("{}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_never_told_too_low() {
        let told = [0, 1, 10_000, 3_500_000, 3_500_001, 7_300_000_000].map(money);
        assert_eq!(told, ["0.00", "0.01", "0.01", "3.50", "3.51", "7300.00"]);
    }

    #[test]
    fn the_longest_run_takes_a_unit_and_has_bounds() {
        assert_eq!(max_run("2h").map(MaxRunS::get), Ok(7_200));
        for bad in ["59s", "366d", "2", "soon"] {
            assert!(max_run(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn labels_are_written_with_an_equals_sign() {
        assert_eq!(label("team=vision").map(|label| label.value.to_string()), Ok("vision".to_owned()));
        for bad in ["team", "=x", "team=", "te am=x", "team=a b"] {
            assert!(label(bad).is_err(), "{bad}");
        }
    }
}
