// Webhooks of the platform itself, which are told what happens anywhere on it.
import { WebhookList } from '../webhooks/WebhookList';
import { useMayAct } from './parts';

/** The page. */
export function Component() {
  const mayChange = useMayAct();
  return <WebhookList owner={{ mayChange }} />;
}
