// Every page, light and dark, wide and narrow: nothing that axe finds against WCAG 2.2 AA, no complaint of the browser, no
// request to anybody else, nothing wider than the window. Pictures of all of them go to target/screenshots/.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import axe from 'axe-core';
import { launch, readCatalogue, startPlatform } from './platform.mjs';

const pictures = new URL('../../target/screenshots/', import.meta.url).pathname;
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const looks = [
  { width: 1440, height: 900, theme: 'light' },
  { width: 1440, height: 900, theme: 'dark' },
  { width: 360, height: 780, theme: 'dark' },
  { width: 360, height: 780, theme: 'light' },
];

let platform;
let catalogue;
before(async () => {
  await mkdir(pictures, { recursive: true });
  platform = await startPlatform();
  catalogue = await readCatalogue(platform);
});
after(() => platform?.end());

/** Looks at one page in every way. */
async function inspect(page, complaints, name, path) {
  await page.setViewportSize(looks[0]);
  await page.goto(platform.url + path);
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await page.waitForFunction(() => !document.querySelector('.skeleton'));
  await page.evaluate(axe.source);
  for (const look of looks) {
    const where = `${name} at ${look.width}, ${look.theme}`;
    await page.setViewportSize({ width: look.width, height: look.height });
    await page.emulateMedia({ colorScheme: look.theme });
    if (await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)) complaints.push(`${where}: wider than the window`);
    const found = await page.evaluate((runOnly) => window.axe.run(document, { runOnly, resultTypes: ['violations'] }), rules);
    for (const violation of found.violations) complaints.push(`${where}: ${violation.id}: ${violation.help}: ${violation.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
    await page.screenshot({ path: `${pictures}${name}-${look.width}-${look.theme}.png`, fullPage: true });
  }
}

/** Looks at pages as somebody who is signed in, or as nobody. */
async function inspectAll(context, pages) {
  const complaints = [];
  const window = await context;
  try {
    const page = await window.newPage();
    page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error.message}`));
    page.on('console', (message) => message.type() === 'error' && complaints.push(`${page.url()}: ${message.text()}`));
    page.on('request', (request) => !request.url().startsWith(`${platform.url}/`) && !request.url().startsWith('blob:') && complaints.push(`a request to ${request.url()}`));
    for (const [name, path] of Object.entries(pages)) await inspect(page, complaints, name, path);
  } finally {
    await window.close();
  }
  assert.deepEqual(complaints, []);
}

test('the pages of those who use the platform', async () => {
  const project = catalogue.projects['aurora/vision'];
  const home = `/projects/${project.id}`;
  const mine = await launch(platform, catalogue, 'tenant_admin', { project: 'aurora/vision', name: 'train', sku: 'h200-sxm-slice', gpus: 2 });
  const speech = catalogue.projects['aurora/speech'];
  await launch(platform, catalogue, 'tenant_admin', { project: 'aurora/speech', name: 'talk', sku: 'h200-sxm-slice', gpus: 8 });
  const { items } = await platform.call('tenant_admin', 'GET', `/api/v1/projects/${speech.id}/workloads`);
  const { webhook } = await platform.call('tenant_admin', 'POST', `/api/v1/tenants/${project.tenant_id}/webhooks`, { url: `${platform.url}/nobody-takes-it`, description: 'for the pager' });
  await platform.call('tenant_admin', 'POST', `/api/v1/webhooks/${webhook.id}/test`);
  await inspectAll(platform.windowOf('tenant_admin'), {
    home,
    launch: `${home}/launch`,
    allocations: `${home}/allocations`,
    allocation: `${home}/allocations/${mine}`,
    'allocation-usage': `${home}/allocations/${mine}?view=usage`,
    'allocation-decisions': `${home}/allocations/${mine}?view=decisions`,
    'allocation-events': `${home}/allocations/${mine}?view=events`,
    queue: `/projects/${speech.id}/queue`,
    workload: `/projects/${speech.id}/queue/${items[0].id}`,
    usage: `${home}/usage`,
    'ssh-keys': `${home}/ssh-keys`,
    members: `/tenants/${project.tenant_id}/members`,
    webhooks: `/tenants/${project.tenant_id}/webhooks`,
    webhook: `/tenants/${project.tenant_id}/webhooks/${webhook.id}`,
    tokens: '/tokens',
    settings: '/settings',
    missing: '/no/such/page',
    denied: '/operator/fleet',
  });
});

test('the pages of those who run the platform', async () => {
  const node = catalogue.nodes['h200-slices-08'];
  const busy = catalogue.nodes['h200-slices-01'];
  const list = async (path) => (await platform.call('platform_operator', 'GET', path)).items;
  const slots = await list(`/api/v1/admin/nodes/${busy.id}/resource-slots`);
  const mine = await launch(platform, catalogue, 'platform_operator', { project: 'borealis/climate', name: 'model', sku: 'h200-sxm-slice', gpus: 4 });
  const workloads = await list(`/api/v1/projects/${catalogue.projects['borealis/climate'].id}/workloads`);
  await inspectAll(platform.windowOf('platform_operator'), {
    'operator-fleet': '/operator/fleet',
    'operator-node': `/operator/nodes/${busy.id}`,
    'operator-node-blocked': `/operator/nodes/${node.id}`,
    'operator-approval': `/operator/nodes/${node.id}/slots`,
    'operator-slot': `/operator/slots/${slots[0].id}`,
    'operator-stuck': '/operator/stuck',
    'operator-queues': '/operator/queues',
    'operator-what-if': '/operator/what-if',
    'operator-workloads': '/operator/workloads',
    'operator-workload': `/operator/workloads/${workloads[0].id}`,
    'operator-allocations': '/operator/allocations',
    'operator-allocation': `/operator/allocations/${mine}`,
    'operator-operations': '/operator/operations',
    'operator-overrides': '/operator/overrides',
    'operator-tenants': '/operator/tenants',
    'operator-tenant': `/operator/tenants/${catalogue.projects['borealis/climate'].tenant_id}`,
    'operator-catalog': '/operator/catalog/skus',
    'operator-enrolment': '/operator/enrolment',
    'operator-machines': '/operator/machines',
    'operator-operators': '/operator/operators',
    'operator-events': '/operator/events',
    'operator-audit': '/operator/audit',
    'operator-status': '/operator/status',
  });
});

test('the fleet map shows its states by colour, for those who want no motion too', async () => {
  for (const reducedMotion of ['reduce', 'no-preference']) {
    const window = await platform.windowOf('operator_read_only', { reducedMotion });
    try {
      const page = await window.newPage();
      await page.goto(`${platform.url}/operator/fleet`);
      // Free, held, drifted and blocked slots, frames and letters: a map in one colour says nothing.
      await page.waitForFunction(() => {
        const canvas = document.querySelector('canvas');
        if (!canvas?.width) return false;
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size > 20;
      });
    } finally {
      await window.close();
    }
  }
});

test('the page to sign in', async () => {
  await inspectAll(platform.window(), { 'sign-in': '/sign-in' });
});
