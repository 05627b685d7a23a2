// Whose webhooks a page is about: a tenant's, or the platform's own. Both pages are the same but for that.

/** A tenant, or the platform where no tenant is named. */
export interface Owner {
  tenantId?: string;
  /** Whether who is signed in may add and change webhooks. */
  mayChange: boolean;
}

/** Where the list of its webhooks is. */
export function pathOf(owner: Owner): string {
  return owner.tenantId === undefined ? '/operator/webhooks' : `/tenants/${owner.tenantId}/webhooks`;
}
