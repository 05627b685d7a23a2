// Every word that the portal shows, in one place: what the frame and the shared pieces say, and what each page says.
import { codes } from './codes';
import { operator } from './operator';
import { shared } from './shared';
import { tenant } from './tenant';
import { webhooks } from './webhooks';

/** All words. */
export const strings = { shared, tenant, operator, webhooks, codes } as const;
