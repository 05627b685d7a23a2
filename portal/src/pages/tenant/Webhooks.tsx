// Webhooks of a tenant.
import { useParams } from 'react-router';
import { mayAdminister } from '../../api/session';
import { useSession } from '../../app/session';
import { WebhookList } from '../webhooks/WebhookList';

/** The page. */
export function Component() {
  const { tenantId = '' } = useParams();
  const mayChange = mayAdminister(useSession(), tenantId);
  return <WebhookList owner={{ tenantId, mayChange }} />;
}
