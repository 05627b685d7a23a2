// One webhook of the platform, with its log.
import { OneWebhook } from '../webhooks/OneWebhook';
import { useMayAct } from './parts';

/** The page. */
export function Component() {
  const mayChange = useMayAct();
  return <OneWebhook owner={{ mayChange }} />;
}
