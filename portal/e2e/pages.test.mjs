// Every page, light and dark, wide, narrow and on a large screen: nothing that axe finds against WCAG 2.2 AA, no complaint of the
// browser, no request to anybody else, nothing wider than the window or outside of it. Pictures of all of them go to target/screenshots/.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import axe from 'axe-core';
import { launch, readCatalogue, startPlatform } from './platform.mjs';
import { operatorPages, pathOf, tenantPages } from './routes.mjs';

const pictures = new URL('../../target/screenshots/', import.meta.url).pathname;
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
// What depends on the layout is looked at once wide and once narrow, colours in all four. A large screen has nothing new for axe.
const colours = ['color-contrast', 'link-in-text-block'];
const looks = [
  { width: 1440, height: 900, theme: 'light', axe: rules },
  { width: 1440, height: 900, theme: 'dark', axe: { type: 'rule', values: colours } },
  { width: 360, height: 780, theme: 'dark', axe: rules },
  { width: 360, height: 780, theme: 'light', axe: { type: 'rule', values: colours } },
  { width: 3840, height: 2160, theme: 'light' },
];

let platform;
let catalogue;
before(async () => {
  await mkdir(pictures, { recursive: true });
  platform = await startPlatform();
  catalogue = await readCatalogue(platform);
});
after(() => platform?.end());

/** Comes when a change of the window has been drawn: what measures itself does so in the next frame, and is drawn in the one after. */
function drawn() {
  const frame = () => new Promise((resolve) => window.requestAnimationFrame(resolve));
  return frame().then(frame).then(frame);
}

/** Whether anything on the page is cut off: it is wider than the window, or a part of it lies outside. */
function lost() {
  const { scrollWidth, clientWidth } = document.documentElement;
  // What can be scrolled into view is not lost.
  const scrolls = (element) => element !== null && (['auto', 'scroll'].includes(window.getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  const outside = [...document.querySelectorAll('main h1, main h2, main button, main a, main td, main canvas')].filter((element) => {
    const { right, width } = element.getBoundingClientRect();
    return width > 0 && right > clientWidth + 1 && !scrolls(element);
  });
  return [...(scrollWidth > clientWidth ? ['wider than the window'] : []), ...outside.slice(0, 3).map((element) => `outside the window: ${element.outerHTML.slice(0, 160)}`)];
}

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
    await page.evaluate(drawn);
    for (const complaint of await page.evaluate(lost)) complaints.push(`${where}: ${complaint}`);
    if (look.axe) {
      const found = await page.evaluate((runOnly) => window.axe.run(document, { runOnly, resultTypes: ['violations'] }), look.axe);
      for (const violation of found.violations) complaints.push(`${where}: ${violation.id}: ${violation.help}: ${violation.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
    }
    // A large screen shows all of a page, or as much of it as anybody looks at.
    await page.screenshot({ path: `${pictures}${name}-${look.width}-${look.theme}.png`, fullPage: look.width < 3000 });
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
    for (const [name, path] of pages) await inspect(page, complaints, name, path);
  } finally {
    await window.close();
  }
  assert.deepEqual(complaints, []);
}

/** The pages of a list for these ids, by the names of their pictures. */
const paths = (list, ids) => list.map(([route, about]) => [about.picture, pathOf(route, ids)]);

async function tenantLooks() {
  const project = catalogue.projects['aurora/vision'];
  const speech = catalogue.projects['aurora/speech'];
  const home = `/projects/${project.id}`;
  const mine = await launch(platform, catalogue, 'tenant_admin', { project: 'aurora/vision', name: 'train', sku: 'h200-sxm-slice', gpus: 2 });
  await launch(platform, catalogue, 'tenant_admin', { project: 'aurora/speech', name: 'talk', sku: 'h200-sxm-slice', gpus: 8 });
  const { items } = await platform.call('tenant_admin', 'GET', `/api/v1/projects/${speech.id}/workloads`);
  const { webhook } = await platform.call('tenant_admin', 'POST', `/api/v1/tenants/${project.tenant_id}/webhooks`, { url: `${platform.url}/nobody-takes-it`, description: 'for the pager' });
  await platform.call('tenant_admin', 'POST', `/api/v1/webhooks/${webhook.id}/test`);
  const ids = { projectId: project.id, tenantId: project.tenant_id, allocationId: mine, workloadId: items[0].id, webhookId: webhook.id };
  // What waits is in the project that has a queue.
  const queued = (route) => route.includes('/queue');
  await inspectAll(platform.windowOf('tenant_admin'), [
    ...paths(tenantPages.filter(([route]) => !queued(route)), ids),
    ...paths(tenantPages.filter(([route]) => queued(route)), { ...ids, projectId: speech.id }),
    ['launch-queued', `/projects/${speech.id}/launch`],
    ['allocation-usage', `${home}/allocations/${mine}?view=usage`],
    ['allocation-decisions', `${home}/allocations/${mine}?view=decisions`],
    ['allocation-events', `${home}/allocations/${mine}?view=events`],
    ['missing', '/no/such/page'],
    ['denied', '/operator/fleet'],
  ]);
}

async function operatorLooks() {
  const blocked = catalogue.nodes['h200-slices-08'];
  const busy = catalogue.nodes['h200-slices-01'];
  const climate = catalogue.projects['borealis/climate'];
  const list = async (path) => (await platform.call('platform_operator', 'GET', path)).items;
  const slots = await list(`/api/v1/admin/nodes/${busy.id}/resource-slots`);
  const mine = await launch(platform, catalogue, 'platform_operator', { project: 'borealis/climate', name: 'model', sku: 'h200-sxm-slice', gpus: 4 });
  const workloads = await list(`/api/v1/projects/${climate.id}/workloads`);
  const { webhook } = await platform.call('platform_operator', 'POST', '/api/v1/admin/webhooks', { url: `${platform.url}/nobody-takes-it`, description: 'for the pager', event_types: ['webhook.tested'] });
  await platform.call('platform_operator', 'POST', `/api/v1/webhooks/${webhook.id}/test`);
  const ids = {
    ...{ nodeId: busy.id, slotId: slots[0].id, workloadId: workloads[0].id, allocationId: mine, tenantId: climate.tenant_id, webhookId: webhook.id },
    ...{ kind: 'skus', id: catalogue.skus['h200-sxm-slice'].id },
  };
  await inspectAll(platform.windowOf('platform_operator'), [
    ...paths(operatorPages, ids),
    ['operator-node-blocked', `/operator/nodes/${blocked.id}`],
    ['operator-approval-blocked', `/operator/nodes/${blocked.id}/slots`],
  ]);
}

// Two windows at once: a browser draws each in a process of its own.
describe('every page', { concurrency: true }, () => {
  test('the pages of those who use the platform', tenantLooks);
  test('the pages of those who run the platform', operatorLooks);
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
  await inspectAll(platform.window(), [['sign-in', '/sign-in']]);
});
