//! Images: what a guest's disk is made of. An entry says what a file is, how long and with which digest, and is signed by a key
//! that the platform trusts; the bytes come after it, and are taken only if they are what the entry says.

use crate::{
    endpoint::{Nothing, not_null},
    endpoints,
    page::{Page, PageQuery},
    problem::FieldError,
};
use model::{
    Timestamp,
    image::{ImageSpec, ImageState},
    text::{Ed25519Key, ImageName},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names an image.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImagePath {
    /// The image, by its name in the catalogue.
    pub image_id: ImageName,
}

/// Names a key that may sign images.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImageKeyPath {
    /// The key.
    pub key_id: ImageName,
}

/// What may change about an image. At least one field.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct ImageUpdateBody {
    /// Whether it is what is launched when nobody names one. There is one such image at most; the last to be named is it.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub is_default: Option<bool>,
}

/// An image of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageView {
    /// Its name.
    pub id: String,
    /// Where it stands.
    pub state: ImageState,
    /// Whether it is what is launched when nobody names one.
    pub is_default: bool,
    /// What it is, as it was signed.
    pub entry: ImageSpec,
    /// One sentence.
    pub projected: String,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it was registered.
    pub created_at: Timestamp,
}

/// A key that may sign entries of the catalogue from now on.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImageKeyAddBody {
    /// A name for it, by which entries refer to it.
    pub key_id: ImageName,
    /// The public half.
    pub public_key: Ed25519Key,
}

/// A key that may sign entries of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageKeyView {
    /// Its name.
    pub key_id: String,
    /// The public half, Ed25519 in hexadecimal.
    pub public_key: String,
    /// Who added it.
    pub added_by: String,
    /// Since when it is not trusted any more. What it signed before stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// Rises by one with every change; the ETag.
    pub version: i64,
    /// When it was added.
    pub created_at: Timestamp,
}

/// The rules between the fields of an entry.
fn check(entry: &ImageSpec) -> Result<(), FieldError> {
    entry.validate().map_err(|bad| FieldError { pointer: format!("/{}", bad.field), detail: bad.expected })
}

endpoints! {
    /// List images. Whoever does not run the platform sees those that can be launched.
    ImageList = "image_list", Get "/api/v1/images", "images", CatalogRead { query: PageQuery, answer: Ok Page<ImageView>, problems: [InvalidPageToken] }
    /// Register an image: its signed entry. Its bytes come next.
    ImageRegister = "image_register", Post "/api/v1/images", "images", CatalogManage { body: ImageSpec, check: check, answer: Created ImageView, problems: [NameTaken, ImageRefused] }
    /// Show an image.
    ImageShow = "image_show", Get "/api/v1/images/{image_id}", "images", CatalogRead { path: ImagePath, answer: Ok ImageView }
    /// Say whether an image is what is launched when nobody names one.
    ImageUpdate = "image_update", Patch "/api/v1/images/{image_id}", "images", CatalogManage { path: ImagePath, body: ImageUpdateBody, answer: Ok ImageView, if_match: Required, problems: [StateConflict] }
    /// Bring the bytes of a registered image, as they are. They are kept only if they are what the entry says.
    ImageUpload = "image_upload", Put "/api/v1/images/{image_id}/content", "images", CatalogManage { path: ImagePath, answer: Ok ImageView, takes_bytes: true, problems: [ImageRefused, StateConflict] }
    /// Launch an image no more. What runs from it goes on.
    ImageRetire = "image_retire", Post "/api/v1/images/{image_id}/retire", "images", CatalogManage { path: ImagePath, answer: Ok ImageView, if_match: Optional, problems: [StateConflict] }
    /// List the keys that may sign images, revoked ones too.
    ImageKeyList = "image_key_list", Get "/api/v1/image-keys", "images", PlatformRead { query: PageQuery, answer: Ok Page<ImageKeyView>, problems: [InvalidPageToken] }
    /// Trust a key that signs images.
    ImageKeyAdd = "image_key_add", Post "/api/v1/image-keys", "images", PlatformManage { body: ImageKeyAddBody, answer: Created ImageKeyView, problems: [NameTaken, ImageRefused] }
    /// Show a key that may sign images.
    ImageKeyShow = "image_key_show", Get "/api/v1/image-keys/{key_id}", "images", PlatformRead { path: ImageKeyPath, answer: Ok ImageKeyView }
    /// Trust a key no more. Images that it signed stay as they are; retire those that are in doubt.
    ImageKeyRevoke = "image_key_revoke", Delete "/api/v1/image-keys/{key_id}", "images", PlatformManage { path: ImageKeyPath, answer: NoContent Nothing, if_match: Optional, problems: [StateConflict] }
}
