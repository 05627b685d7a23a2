//! The first things in an empty store: an operator who can create the rest, and nodes with their slots until agents enroll
//! themselves. Nothing here is reachable from the API.

use ed25519_dalek::{Signer as _, SigningKey};
use model::{
    AuditId, NodeId, PoolId, PrincipalId, SlotId, TokenId,
    identity::{PlatformRole, PrincipalKind, TokenScope},
    image::{ImageFormat, ImageKind, ImageSpec, ImageState},
    number::TokenLifetimeS,
    supply::{FabricClaimMode, GpuModel, NodeProfile},
    text::{Ed25519Key, Email, ImageName},
};
use store::{
    Stamp, StoreError, Tx,
    audit::{self, AuditRow},
    images, nodes,
    nodes::NodeNew,
    principals::{self, PrincipalNew},
    slots::{self, Approval, SlotNew, SlotParts},
    tokens::{self, TokenNew},
};
use topology::{ApprovedSlot, Locality, Partitions, SlotDevices};

use crate::{
    Ports,
    authz::token::{Secret, hex},
};

/// An operator with a token that was just made. The secret is shown once and stored nowhere.
#[derive(Debug, Clone)]
pub struct FirstOperator {
    /// The operator.
    pub principal_id: PrincipalId,
    /// The token.
    pub token_id: TokenId,
    /// What to send with requests.
    pub secret: Secret,
}

/// Creates an operator with a token, unless there is an operator already: then `None`, and nothing changes.
pub fn first_operator(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    ports: &Ports,
    email: &Email,
    lifetime: TokenLifetimeS,
) -> Result<Option<FirstOperator>, StoreError> {
    if principals::operators_left(tx)? > 0 {
        return Ok(None);
    }
    let id = PrincipalId::from_parts(stamp.now, stamp.bits());
    let role = Some(PlatformRole::PlatformOperator);
    let new =
        PrincipalNew { id: &id, kind: PrincipalKind::User, name: email.as_str(), tenant_id: None, platform_role: role };
    principals::insert(tx, stamp, new)?;
    let (token_id, secret) = token_for(tx, stamp, ports, &id, lifetime)?;
    audit::append(
        tx,
        &AuditRow {
            id: AuditId::from_parts(stamp.now, stamp.bits()),
            actor: "system:bootstrap".to_owned(),
            token_id: None,
            action: "bootstrap".to_owned(),
            subject: id.to_string(),
            tenant_id: None,
            request_id: "bootstrap".to_owned(),
            body: "{}".to_owned(),
            at: stamp.now,
        },
    )?;
    Ok(Some(FirstOperator { principal_id: id, token_id, secret }))
}

/// Gives a principal a token that may do everything its owner may: for first set-up, and for an operator who lost the last one.
pub fn token_for(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    ports: &Ports,
    principal_id: &PrincipalId,
    lifetime: TokenLifetimeS,
) -> Result<(TokenId, Secret), StoreError> {
    let (token_id, secret) = (TokenId::from_parts(stamp.now, stamp.bits()), Secret::mint(ports));
    let new = TokenNew {
        id: &token_id,
        principal_id,
        tenant_id: None,
        project_id: None,
        name: "bootstrap",
        secret_hash: &secret.hash(),
        scope: TokenScope::Write,
        expires: stamp.now.plus_seconds(lifetime.get()),
    };
    tokens::insert(tx, stamp, new)?;
    Ok((token_id, secret))
}

/// The name of the image that simulated hosts build guests from.
pub const SIMULATED_IMAGE: &str = "simulated";

/// Makes an image for hosts that are simulated: trusted, available, and what is launched when nobody names one. Nobody has its
/// bytes, and nobody asks for them; the key that signed it is thrown away. Done once, however often it is called.
pub fn simulated_image(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    ports: &Ports,
    by: &PrincipalId,
) -> Result<(), StoreError> {
    let text = |error: model::text::BadText| StoreError::Other(error.to_string());
    let name: ImageName = SIMULATED_IMAGE.parse().map_err(text)?;
    if images::get(tx, &name)?.is_some() {
        return Ok(());
    }
    let mut seed = [0u8; 32];
    ports.entropy.fill(&mut seed);
    let key = SigningKey::from_bytes(&seed);
    let public: Ed25519Key = hex(key.verifying_key().as_bytes()).parse().map_err(text)?;
    let mut spec = ImageSpec {
        id: SIMULATED_IMAGE.to_owned(),
        sha256: "0".repeat(64),
        size_bytes: 512,
        format: ImageFormat::Raw,
        virtual_size_bytes: 512,
        minimum_disk_bytes: 512,
        kind: ImageKind::Base,
        signer_key_id: SIMULATED_IMAGE.to_owned(),
        signature: String::new(),
    };
    spec.signature = hex(&key.sign(spec.signed_text().as_bytes()).to_bytes());
    images::insert_key(tx, stamp, &name, &public, by)?;
    images::insert(tx, stamp, &spec)?;
    let row = images::get(tx, &name)?.ok_or(StoreError::NotFound)?;
    images::enter(tx, stamp, &row, ImageState::Available)?;
    let row = images::get(tx, &name)?.ok_or(StoreError::NotFound)?;
    images::set_default(tx, stamp, &row, true)?;
    Ok(())
}

/// A node to take in, as it describes itself.
#[derive(Debug, Clone)]
pub struct NewNode {
    /// Its id.
    pub id: NodeId,
    /// Its pool.
    pub pool_id: PoolId,
    /// Its host name.
    pub name: String,
    /// What it carries.
    pub gpu_model: GpuModel,
    /// The Ed25519 key its proofs are signed with, in hexadecimal.
    pub public_key: String,
    /// The sets its board can be cut into.
    pub partitions: Partitions,
    /// Its slots; none when an operator has yet to approve them.
    pub slots: Vec<NewSlot>,
    /// What it is meant for.
    pub profiles: Vec<NodeProfile>,
    /// Whether it may be cut into slices from the start.
    pub promoted: bool,
}

/// A slot to take in.
#[derive(Debug, Clone)]
pub struct NewSlot {
    /// Its id.
    pub id: SlotId,
    /// What one slot of this kind gets.
    pub profile: String,
    /// The GPU's own identity.
    pub gpu_uuid: Option<String>,
    /// Its devices, as far as they are known. Only a complete slot is approved for sale; any other is `disabled`.
    pub devices: SlotDevices,
    /// Where they hang on the host.
    pub locality: Locality,
    /// What the host showed of them, to compare later discoveries with; none when nothing was seen of the host.
    pub approved: Option<ApprovedSlot>,
}

/// Takes in a node with its slots: enrolled, and unused, so that nothing has to be proved before the first sale.
pub fn register_node(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: &NewNode) -> Result<(), StoreError> {
    let text = |error: serde_json::Error| StoreError::Other(error.to_string());
    let partitions = serde_json::to_string(&new.partitions).map_err(text)?;
    nodes::insert(
        tx,
        stamp,
        NodeNew {
            id: &new.id,
            pool_id: &new.pool_id,
            name: &new.name,
            gpu_model: new.gpu_model,
            public_key: &new.public_key,
            partitions: &partitions,
            hardware_serial: None,
            profiles: &serde_json::to_string(&new.profiles).map_err(text)?,
            promoted: new.promoted.then_some(stamp.now),
        },
    )?;
    let rows = new.slots.iter().map(|slot| slot_row(new, slot)).collect::<Result<Vec<SlotNew>, _>>().map_err(text)?;
    slots::insert_all(tx, stamp, &rows)
}

fn slot_row(node: &NewNode, slot: &NewSlot) -> Result<SlotNew, serde_json::Error> {
    let devices = &slot.devices;
    let module = devices.gpu_module_id;
    let sets = node.partitions.sets().iter().enumerate();
    let member = sets.filter(|(_, set)| module.is_some_and(|module| set.contains(&module)));
    let partition_ids: Vec<String> = member.map(|(at, _)| at.to_string()).collect();
    let fabric = devices.fabric_claim_mode == FabricClaimMode::PerSlotVf;
    let approved = slot.approved.as_ref().map(serde_json::to_string).transpose()?;
    Ok(SlotNew {
        id: slot.id.clone(),
        node_id: node.id.clone(),
        profile: slot.profile.clone(),
        available: devices.missing().is_empty(),
        parts: SlotParts {
            gpu_pci_address: devices.gpu_pci_address.clone(),
            gpu_uuid: slot.gpu_uuid.clone(),
            gpu_module_id: module.map(|module| i64::from(module.0)),
            nvme_identity: devices.nvme_identity.clone(),
            mgmt_mac: devices.mgmt_mac.clone(),
            private_ip: devices.private_ip.clone(),
            fabric_claim_mode: devices.fabric_claim_mode,
            fabric_vf_pci_address: devices.fabric_vf_pci_address.clone().filter(|_| fabric),
            numa_node: devices.numa_node.map(i64::from),
            pcie_switch: slot.locality.pcie_switch.map(i64::from),
            rail: slot.locality.rail.map(i64::from),
            partition_ids: format!("[{}]", partition_ids.join(",")),
            capacity_metadata: "{}".to_owned(),
        },
        approval: approved.map(|devices| Approval { devices, by: "bootstrap".to_owned() }),
    })
}
