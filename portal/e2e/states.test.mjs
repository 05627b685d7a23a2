// How every page stands when it cannot show what it is for: who looks may not, the control plane takes its time, or it is gone. The
// process is real and is really stopped and killed; the list of pages is compared with the router's.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, readCatalogue, startPlatform } from './platform.mjs';
import { operatorPages, pages, pathOf, readRoutes, tenantPages } from './routes.mjs';

let platform;
let ids;
let operatorIds;
before(async () => {
  platform = await startPlatform();
  const catalogue = await readCatalogue(platform);
  const vision = catalogue.projects['aurora/vision'];
  const speech = catalogue.projects['aurora/speech'];
  const allocationId = await launch(platform, catalogue, 'tenant_admin', { project: 'aurora/vision', name: 'train', sku: 'h200-sxm-slice', gpus: 1 });
  await launch(platform, catalogue, 'tenant_admin', { project: 'aurora/speech', name: 'talk', sku: 'h200-sxm-slice', gpus: 1 });
  const workloads = await platform.call('tenant_admin', 'GET', `/api/v1/projects/${speech.id}/workloads`);
  const nodeId = catalogue.nodes['h200-slices-01'].id;
  const slots = await platform.call('platform_operator', 'GET', `/api/v1/admin/nodes/${nodeId}/resource-slots`);
  const hook = { url: `${platform.url}/nobody-takes-it`, enabled: false };
  const theirs = await platform.call('tenant_admin', 'POST', `/api/v1/tenants/${vision.tenant_id}/webhooks`, hook);
  const ours = await platform.call('platform_operator', 'POST', '/api/v1/admin/webhooks', hook);
  ids = {
    ...{ projectId: vision.id, tenantId: vision.tenant_id, allocationId, workloadId: workloads.items[0].id, nodeId, slotId: slots.items[0].id },
    ...{ webhookId: theirs.webhook.id, kind: 'skus', id: catalogue.skus['h200-sxm-slice'].id },
  };
  operatorIds = { ...ids, webhookId: ours.webhook.id };
});
after(() => platform?.end());

/** Goes to a page as a link of the portal does, without loading anything anew. On the way it passes the settings, so that nothing of the page before is left. */
async function go(page, path) {
  const settings = page.getByRole('heading', { level: 1, name: 'Settings' });
  const follow = (to) => {
    window.history.pushState({ idx: 0, key: to }, '', to);
    window.dispatchEvent(new window.PopStateEvent('popstate', { state: window.history.state }));
  };
  await page.evaluate(follow, '/settings');
  await settings.waitFor();
  await page.evaluate(follow, path);
  await settings.waitFor({ state: 'detached' });
}

/** Opens the portal as somebody, at a page that reads nothing, and waits until all other pages are at hand. */
async function opened(role, run) {
  const window = await platform.windowOf(role);
  try {
    const page = await window.newPage();
    await page.goto(`${platform.url}/settings`);
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
    await page.waitForFunction(() => window.performance.getEntriesByName('pages-at-hand').length > 0);
    await run(page);
  } finally {
    await window.close();
  }
}

/** Those pages that somebody waits for, with their paths. */
const waitedFor = (list, known) => list.filter(([, about]) => !about.still).map(([route]) => [route, pathOf(route, known)]);

test('every page of the router is in the list of these tests', async () => {
  assert.deepEqual(Object.keys(pages).sort(), (await readRoutes()).sort());
});

/** What a page says to somebody who may not see it: that, by which code, and where to read on. */
async function isDenied(page, route) {
  const alert = page.getByRole('alert').filter({ has: page.getByRole('heading', { name: 'Your role does not allow this' }) });
  await alert.waitFor().catch((cause) => assert.fail(`${route}: ${cause.message}`));
  await alert.getByText('forbidden', { exact: true }).waitFor();
  return alert.getByRole('link', { name: 'What it means and what to do' }).getAttribute('href');
}

test('an operator page says to a member of a tenant that it is not for them, with the code and where to read on', async () => {
  await opened('project_member', async (page) => {
    for (const [route] of operatorPages) {
      await go(page, pathOf(route, operatorIds));
      const explained = await isDenied(page, route);
      assert.equal(explained, '/docs/errors/forbidden');
    }
    const response = await page.request.get(`${platform.url}/docs/errors/forbidden`);
    assert.ok(response.ok() && (await response.text()).includes('forbidden'), 'the code has a page');
  });
});

test('a page that a role of a tenant may not use says so, with the code and where to read on', async () => {
  const closed = tenantPages.filter(([, about]) => about.deniedTo);
  assert.ok(closed.length > 0);
  for (const role of new Set(closed.map(([, about]) => about.deniedTo))) {
    await opened(role, async (page) => {
      for (const [route, about] of closed) {
        if (about.deniedTo !== role) continue;
        await go(page, pathOf(route, ids));
        await isDenied(page, route);
      }
    });
  }
});

test('what a page shows while the control plane does not answer yet, and that it comes', async () => {
  for (const [role, list] of [['tenant_admin', waitedFor(tenantPages, ids)], ['platform_operator', waitedFor(operatorPages, operatorIds)]]) {
    await opened(role, async (page) => {
      platform.pauseProgram();
      try {
        for (const [route, path] of list) {
          await go(page, path);
          await page.locator('main').getByRole('status').filter({ hasText: 'Loading…' }).first().waitFor().catch((cause) => assert.fail(`${route}: ${cause.message}`));
        }
      } finally {
        platform.goOnProgram();
      }
      const [route] = list.at(-1);
      await page.waitForFunction(() => document.querySelector('main h1') && !document.querySelector('main .skeleton')).catch((cause) => assert.fail(`${route}: ${cause.message}`));
    });
  }
});

test('what a page shows when the control plane is gone, and that it heals by itself', async () => {
  for (const [role, list] of [['tenant_admin', waitedFor(tenantPages, ids)], ['platform_operator', waitedFor(operatorPages, operatorIds)]]) {
    await opened(role, async (page) => {
      await platform.killProgram();
      const alert = page.getByRole('alert').filter({ hasText: 'The control plane does not answer' }).first();
      for (const [route, path] of list) {
        await go(page, path);
        await alert.getByRole('button', { name: 'Try again' }).waitFor().catch((cause) => assert.fail(`${route}: ${cause.message}`));
      }
      // Trying again while it is still gone says the same again.
      await alert.getByRole('button', { name: 'Try again' }).click();
      await alert.waitFor();
      await platform.startProgramAgain();
      // Nobody touches the page. The browser says that the network is back, so the next try need not be waited for.
      await page.context().setOffline(true);
      await page.context().setOffline(false);
      await page.waitForFunction(() => document.querySelector('main h1') && !document.querySelector('main .skeleton') && !document.querySelector('main [role=alert]'));
    });
  }
});
