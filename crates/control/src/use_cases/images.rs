//! Images and the keys that sign them. An entry is taken only if a key that the platform trusts signed it, and can be launched
//! only once its bytes are there. Tenants see what they can launch; operators see everything.

use api::{
    Code, Nothing, Problem, Right,
    image::{
        ImageKeyAdd, ImageKeyList, ImageKeyRevoke, ImageKeyShow, ImageKeyView, ImageList, ImageRegister, ImageRetire,
        ImageShow, ImageUpdate, ImageUpload, ImageView,
    },
    page::Page,
};
use ed25519_dalek::{Signature, VerifyingKey};
use model::{
    image::{ImageSpec, ImageState},
    text::ImageName,
};
use store::images::{self, ImageKeyRow, ImageRow};

use super::{name_taken, state_conflict};
use crate::{
    authz::Resource,
    front_door::{Answer, Ctx, Input, Refusal, Route, internal, route},
    image_files::judge,
    proof_check::unhex,
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<ImageList>(image_list),
        route::<ImageRegister>(image_register),
        route::<ImageShow>(image_show),
        route::<ImageUpdate>(image_update),
        route::<ImageUpload>(image_upload),
        route::<ImageRetire>(image_retire),
        route::<ImageKeyList>(key_list),
        route::<ImageKeyAdd>(key_add),
        route::<ImageKeyShow>(key_show),
        route::<ImageKeyRevoke>(key_revoke),
    ]
}

fn answer(row: ImageRow) -> Answer<ImageView> {
    let (id, version) = (row.spec.id.clone(), row.version);
    Answer::new(views::image(row)).version(version).about(id, None)
}

fn again(ctx: &mut Ctx<'_, '_>, row: &ImageRow) -> Result<Answer<ImageView>, Refusal> {
    let id: ImageName = row.spec.id.parse().map_err(|_| internal())?;
    Ok(answer(images::get(ctx.tx, &id)?.ok_or_else(internal)?))
}

fn image_list(ctx: &mut Ctx<'_, '_>, input: Input<ImageList>) -> Result<Answer<Page<ImageView>>, Refusal> {
    ctx.platform()?;
    let state = if sees_all(ctx) { None } else { Some(ImageState::Available) };
    let cursor = ctx.cursor(&input.query)?;
    let rows = images::list(ctx.tx, state, cursor.rows())?;
    let page = cursor.page(rows, |row| row.spec.id.as_str(), |row| Ok::<_, Refusal>(views::image(row)))?;
    Ok(Answer::page(page))
}

fn sees_all(ctx: &Ctx<'_, '_>) -> bool {
    ctx.may(Right::PlatformRead, Resource::Platform)
}

/// An image, for this operation. To others than operators there are only those that can be launched.
fn image(ctx: &mut Ctx<'_, '_>, id: &ImageName) -> Result<ImageRow, Refusal> {
    let all = sees_all(ctx);
    let row = images::get(ctx.tx, id)?.filter(|row| all || row.state == ImageState::Available);
    let row = row.ok_or_else(Refusal::not_found)?;
    ctx.platform()?;
    Ok(row)
}

fn image_show(ctx: &mut Ctx<'_, '_>, input: Input<ImageShow>) -> Result<Answer<ImageView>, Refusal> {
    Ok(answer(image(ctx, &input.path.image_id)?))
}

fn image_register(ctx: &mut Ctx<'_, '_>, input: Input<ImageRegister>) -> Result<Answer<ImageView>, Refusal> {
    ctx.platform()?;
    let entry = &input.body;
    let key = images::get_key(ctx.tx, &entry.signer_key_id)?;
    refuse_unless_signed(entry, key.as_ref())?;
    images::insert(ctx.tx, &mut ctx.stamp, entry).map_err(name_taken("/id", &entry.id))?;
    let id: ImageName = entry.id.parse().map_err(|_| internal())?;
    let row = images::get(ctx.tx, &id)?.ok_or_else(internal)?;
    Ok(answer(row).at(format!("/api/v1/images/{id}")))
}

fn refuse_unless_signed(entry: &ImageSpec, key: Option<&ImageKeyRow>) -> Result<(), Refusal> {
    let refuse = |pointer: &str, detail: &str, accepted: &str| {
        Err(Problem::new(Code::ImageRefused, detail).with_field(pointer, accepted).into())
    };
    match key {
        None => refuse("/signer_key_id", "No such key is known.", "the name of a key that the platform trusts"),
        Some(key) if key.revoked.is_some() => {
            refuse("/signer_key_id", "The key was revoked.", "the name of a key that the platform trusts")
        }
        Some(key) if !signed_by(&key.public_key, entry) => refuse(
            "/signature",
            "The signature does not fit the entry and the key.",
            "the signature that `gpuaas image sign` makes with the named key",
        ),
        Some(_) => Ok(()),
    }
}

/// Whether an entry carries a good signature for a public key in hexadecimal.
fn signed_by(public_key: &str, entry: &ImageSpec) -> bool {
    let check = || {
        let key = VerifyingKey::from_bytes(&unhex::<32>(public_key)?).ok()?;
        let signature = Signature::from_bytes(&unhex::<64>(&entry.signature)?);
        key.verify_strict(entry.signed_text().as_bytes(), &signature).ok()
    };
    check().is_some()
}

fn image_update(ctx: &mut Ctx<'_, '_>, input: Input<ImageUpdate>) -> Result<Answer<ImageView>, Refusal> {
    let row = image(ctx, &input.path.image_id)?;
    ctx.check_version(input.if_match, row.version)?;
    let is_default = input.body.is_default.unwrap_or(row.is_default);
    if is_default && row.state != ImageState::Available {
        return Err(state_conflict(format!("The image is {}; only an available one can be the default.", row.state)));
    }
    images::set_default(ctx.tx, &mut ctx.stamp, &row, is_default)?;
    again(ctx, &row)
}

/// Whether bytes may be brought for an image.
pub(crate) fn refuse_upload(row: &ImageRow) -> Result<(), Refusal> {
    match row.state {
        // Brought again they are the same; that is how lost ones come back.
        ImageState::Registered | ImageState::Available => Ok(()),
        ImageState::Retired => Err(state_conflict("The image is retired; nobody needs its bytes.")),
    }
}

fn image_upload(ctx: &mut Ctx<'_, '_>, input: Input<ImageUpload>) -> Result<Answer<ImageView>, Refusal> {
    let row = image(ctx, &input.path.image_id)?;
    refuse_upload(&row)?;
    let Some(received) = &input.received else {
        let problem = Problem::new(Code::ImageRefused, "No bytes came with the request.");
        return Err(problem.with_field("content", "the bytes of the image as the body").into());
    };
    if let Err(fault) = judge(&row.spec, received) {
        let problem = Problem::new(Code::ImageRefused, "The bytes are not what the entry of the image says.");
        return Err(problem.with_field("content", fault.to_string()).into());
    }
    if row.state == ImageState::Registered {
        images::enter(ctx.tx, &mut ctx.stamp, &row, ImageState::Available)?;
    }
    again(ctx, &row)
}

fn image_retire(ctx: &mut Ctx<'_, '_>, input: Input<ImageRetire>) -> Result<Answer<ImageView>, Refusal> {
    let row = image(ctx, &input.path.image_id)?;
    ctx.check_version(input.if_match, row.version)?;
    if row.state == ImageState::Retired {
        return Err(state_conflict("The image is retired already."));
    }
    images::enter(ctx.tx, &mut ctx.stamp, &row, ImageState::Retired)?;
    again(ctx, &row)
}

fn key_answer(row: ImageKeyRow) -> Answer<ImageKeyView> {
    let (id, version) = (row.key_id.clone(), row.version);
    Answer::new(views::image_key(row)).version(version).about(id, None)
}

fn key_list(ctx: &mut Ctx<'_, '_>, input: Input<ImageKeyList>) -> Result<Answer<Page<ImageKeyView>>, Refusal> {
    ctx.platform()?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = images::list_keys(ctx.tx, cursor.rows())?;
    let page = cursor.page(rows, |row| row.key_id.as_str(), |row| Ok::<_, Refusal>(views::image_key(row)))?;
    Ok(Answer::page(page))
}

fn key_add(ctx: &mut Ctx<'_, '_>, input: Input<ImageKeyAdd>) -> Result<Answer<ImageKeyView>, Refusal> {
    ctx.platform()?;
    let body = &input.body;
    let is_key = unhex::<32>(body.public_key.as_str()).is_some_and(|bytes| {
        // One that anybody could sign for is none.
        VerifyingKey::from_bytes(&bytes).is_ok_and(|key| !key.is_weak())
    });
    if !is_key {
        let problem = Problem::new(Code::ImageRefused, "The text is no Ed25519 key that can be used.");
        return Err(problem.with_field("/public_key", "a public key as `gpuaas image keygen` writes it").into());
    }
    let by = ctx.caller.principal_id.clone();
    let made = images::insert_key(ctx.tx, &mut ctx.stamp, &body.key_id, &body.public_key, &by);
    made.map_err(name_taken("/key_id", body.key_id.as_str()))?;
    let row = images::get_key(ctx.tx, body.key_id.as_str())?.ok_or_else(internal)?;
    Ok(key_answer(row).at(format!("/api/v1/image-keys/{}", body.key_id)))
}

/// A key, for this operation. Only operators know of keys.
fn key(ctx: &mut Ctx<'_, '_>, key_id: &ImageName) -> Result<ImageKeyRow, Refusal> {
    if !sees_all(ctx) {
        return Err(Refusal::not_found());
    }
    let row = images::get_key(ctx.tx, key_id.as_str())?.ok_or_else(Refusal::not_found)?;
    ctx.platform()?;
    Ok(row)
}

fn key_show(ctx: &mut Ctx<'_, '_>, input: Input<ImageKeyShow>) -> Result<Answer<ImageKeyView>, Refusal> {
    Ok(key_answer(key(ctx, &input.path.key_id)?))
}

fn key_revoke(ctx: &mut Ctx<'_, '_>, input: Input<ImageKeyRevoke>) -> Result<Answer<Nothing>, Refusal> {
    let row = key(ctx, &input.path.key_id)?;
    ctx.check_version(input.if_match, row.version)?;
    if row.revoked.is_some() {
        return Err(state_conflict("The key is revoked already."));
    }
    images::revoke_key(ctx.tx, &mut ctx.stamp, &row)?;
    Ok(Answer::new(Nothing {}).about(row.key_id, None))
}
