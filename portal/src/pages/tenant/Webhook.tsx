// One webhook of a tenant, with its log.
import { useParams } from 'react-router';
import { mayAdminister } from '../../api/session';
import { useSession } from '../../app/session';
import { OneWebhook } from '../webhooks/OneWebhook';

/** The page. */
export function Component() {
  const { tenantId = '' } = useParams();
  const mayChange = mayAdminister(useSession(), tenantId);
  return <OneWebhook owner={{ tenantId, mayChange }} />;
}
