//! Admission: whether a request may enter at all, before anybody looks for capacity.
//!
//! Asked twice, with the same function: when the wish is recorded and again before placement, because a project may have
//! been suspended in between. Every check is made and recorded, also after one has refused, so that a user sees all that
//! is wrong at once. A wish to suspend or delete counts from the moment it is recorded, not when it has been carried out.

use model::{tenancy, text_enum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

text_enum! {
    /// The checks, in the order they are made and shown.
    CheckCode {
        /// The tenant may start things.
        TenantActive = "tenant_active",
        /// The project may start things.
        ProjectActive = "project_active",
        /// The region takes new work.
        RegionEnabled = "region_enabled",
        /// The SKU is for sale.
        SkuEnabled = "sku_enabled",
        /// The SKU is sold in this size.
        CountSellable = "count_sellable",
        /// The project stays within its number of GPUs.
        GpuCap = "gpu_cap",
    }
}

text_enum! {
    /// How a check ended.
    CheckOutcome {
        /// It holds.
        Passed = "passed",
        /// It does not.
        Refused = "refused",
    }
}

/// What admission looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmitInput {
    /// Where the tenant stands.
    pub tenant: tenancy::State,
    /// What somebody wants of the tenant.
    pub tenant_desired: tenancy::Desired,
    /// Where the project stands.
    pub project: tenancy::State,
    /// What somebody wants of the project.
    pub project_desired: tenancy::Desired,
    /// Whether the region takes new work.
    pub region_enabled: bool,
    /// Whether the SKU is for sale.
    pub sku_enabled: bool,
    /// The sizes the SKU is sold in.
    pub sku_gpu_counts: Vec<u32>,
    /// How many GPUs are asked for.
    pub gpu_count: u32,
    /// GPUs that the project's other living allocations hold or have asked for.
    pub project_gpus_held: u32,
    /// GPUs that the project may hold.
    pub project_gpu_cap: u32,
}

/// One check with its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Which.
    pub code: CheckCode,
    /// How it ended.
    pub outcome: CheckOutcome,
    /// One sentence with the values that decided it.
    pub detail: String,
}

/// The answer, check by check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Admission {
    /// Every check, in order.
    pub checks: Vec<Check>,
}

impl Admission {
    /// Whether every check holds.
    pub fn admitted(&self) -> bool {
        self.first_refusal().is_none()
    }
    /// The first check that does not hold.
    pub fn first_refusal(&self) -> Option<&Check> {
        self.checks.iter().find(|check| check.outcome == CheckOutcome::Refused)
    }
}

/// Makes every check.
pub fn admit(input: &AdmitInput) -> Admission {
    Admission { checks: CheckCode::ALL.iter().map(|code| check(*code, input)).collect() }
}

fn check(code: CheckCode, input: &AdmitInput) -> Check {
    let (holds, detail) = match code {
        CheckCode::TenantActive => tenancy_active("tenant", input.tenant, input.tenant_desired),
        CheckCode::ProjectActive => tenancy_active("project", input.project, input.project_desired),
        CheckCode::RegionEnabled => enabled("region", input.region_enabled),
        CheckCode::SkuEnabled => enabled("SKU", input.sku_enabled),
        CheckCode::CountSellable => {
            let sizes: Vec<String> = input.sku_gpu_counts.iter().map(u32::to_string).collect();
            let sizes = if sizes.is_empty() { "no size".to_owned() } else { sizes.join(", ") };
            let holds = input.gpu_count > 0 && input.sku_gpu_counts.contains(&input.gpu_count);
            (holds, format!("The SKU is sold in {sizes}; {} asked for.", input.gpu_count))
        }
        CheckCode::GpuCap => {
            let (held, cap, more) = (input.project_gpus_held, input.project_gpu_cap, input.gpu_count);
            (
                u64::from(held) + u64::from(more) <= u64::from(cap),
                format!("The project holds {held} of {cap} GPUs; {more} more asked for."),
            )
        }
    };
    Check { code, outcome: if holds { CheckOutcome::Passed } else { CheckOutcome::Refused }, detail }
}

fn tenancy_active(noun: &str, state: tenancy::State, desired: tenancy::Desired) -> (bool, String) {
    let holds = state == tenancy::State::Active && desired == tenancy::Desired::Active;
    (holds, format!("The {noun} is {state} and wanted {desired}."))
}

fn enabled(noun: &str, enabled: bool) -> (bool, String) {
    (enabled, format!("The {noun} is {}.", if enabled { "enabled" } else { "disabled" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> AdmitInput {
        AdmitInput {
            tenant: tenancy::State::Active,
            tenant_desired: tenancy::Desired::Active,
            project: tenancy::State::Active,
            project_desired: tenancy::Desired::Active,
            region_enabled: true,
            sku_enabled: true,
            sku_gpu_counts: vec![1, 2, 4, 8],
            gpu_count: 4,
            project_gpus_held: 4,
            project_gpu_cap: 8,
        }
    }

    fn refusals(change: impl Fn(&mut AdmitInput)) -> Vec<CheckCode> {
        let mut input = good();
        change(&mut input);
        let admission = admit(&input);
        assert_eq!(admission.checks.len(), CheckCode::ALL.len(), "every check is recorded");
        let refused: Vec<_> =
            admission.checks.iter().filter(|c| c.outcome == CheckOutcome::Refused).map(|c| c.code).collect();
        assert_eq!(admission.admitted(), refused.is_empty());
        refused
    }

    #[test]
    fn a_request_with_everything_in_order_enters() {
        assert_eq!(refusals(|_| ()), []);
    }

    #[test]
    fn each_fault_is_refused_by_its_own_check() {
        assert_eq!(refusals(|i| i.tenant = tenancy::State::Suspended), [CheckCode::TenantActive]);
        assert_eq!(refusals(|i| i.tenant_desired = tenancy::Desired::Deleted), [CheckCode::TenantActive]);
        assert_eq!(refusals(|i| i.project = tenancy::State::Creating), [CheckCode::ProjectActive]);
        assert_eq!(refusals(|i| i.project_desired = tenancy::Desired::Suspended), [CheckCode::ProjectActive]);
        assert_eq!(refusals(|i| i.region_enabled = false), [CheckCode::RegionEnabled]);
        assert_eq!(refusals(|i| i.sku_enabled = false), [CheckCode::SkuEnabled]);
        assert_eq!(refusals(|i| i.gpu_count = 3), [CheckCode::CountSellable]);
        assert_eq!(refusals(|i| i.project_gpu_cap = 7), [CheckCode::GpuCap]);
    }

    #[test]
    fn zero_gpus_are_never_sellable_and_huge_numbers_do_not_wrap() {
        let zero = |i: &mut AdmitInput| (i.gpu_count, i.sku_gpu_counts) = (0, vec![0]);
        assert_eq!(refusals(zero), [CheckCode::CountSellable]);
        assert_eq!(refusals(|i| i.project_gpus_held = u32::MAX), [CheckCode::GpuCap]);
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        let wrong = |i: &mut AdmitInput| (i.region_enabled, i.sku_enabled, i.project_gpu_cap) = (false, false, 0);
        assert_eq!(refusals(wrong), [CheckCode::RegionEnabled, CheckCode::SkuEnabled, CheckCode::GpuCap]);
    }
}
