// Whole journeys of people through the portal, in a real browser and against a real control plane.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { keyOf, launch, newPublicKey, readCatalogue, startPlatform, tabTo } from './platform.mjs';

let platform;
let catalogue;
before(async () => {
  platform = await startPlatform();
  catalogue = await readCatalogue(platform);
});
after(() => platform?.end());

/** Runs a journey in a window of its own, which is closed in any case. */
async function inWindow(context, journey) {
  const window = await context;
  try {
    await journey(await window.newPage(), window);
  } finally {
    await window.close();
  }
}

/** Gives back what the page shows, and waits until it is gone. */
async function giveBack(page, name) {
  await page.getByRole('button', { name: 'Give back' }).click();
  await page.getByRole('alertdialog', { name: `Give ${name} back?` }).getByRole('button', { name: 'Give back' }).click();
  await page.getByRole('main').getByText('Released', { exact: true }).first().waitFor();
}

const choose = (page, name) => page.getByRole('radio', { name }).locator('xpath=ancestor::label').click();

test('a new tenant signs in, launches a slice, watches it start, and gives it back', async () => {
  await inWindow(platform.window(), async (page, window) => {
    await page.goto(platform.url);
    await page.getByRole('textbox', { name: 'Token' }).fill('gpuaas_this-opens-nothing-at-all-and-never-did-open-it');
    await page.getByRole('button', { name: 'Sign in with the token' }).click();
    await page.getByText('This token does not open anything').waitFor();
    await page.getByRole('textbox', { name: 'Token' }).fill(platform.tokens.project_member);
    await page.getByRole('button', { name: 'Sign in with the token' }).click();
    await page.getByText('Nothing runs').waitFor();
    assert.ok(!page.url().includes('gpuaas_'), 'a token is never in an address');
    const cookie = (await window.cookies()).find((each) => each.name === 'gpuaas_session');
    assert.ok(cookie.httpOnly && cookie.sameSite === 'Strict');

    await page.getByRole('navigation').getByRole('link', { name: 'Launch' }).click();
    await page.getByText('Closed: nothing can be launched there.').waitFor();
    assert.ok(await page.getByRole('radio', { name: /us-east/ }).isDisabled(), 'a closed region is shown and cannot be chosen');
    await choose(page, /^H200 SXM/);
    await choose(page, /^2 GPUs/);
    await page.getByRole('textbox', { name: 'Name' }).fill('first');
    await page.getByRole('button', { name: 'Add a key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a key' });
    await dialog.getByRole('textbox', { name: 'Name' }).fill('laptop');
    await dialog.getByRole('textbox', { name: 'Public key' }).fill(newPublicKey());
    await dialog.getByRole('button', { name: 'Add a key' }).click();
    await page.getByRole('checkbox', { name: /^laptop/ }).waitFor();
    await page.getByText('It fits now').waitFor();
    await page.getByText('A month of 730 hours').waitFor();
    await page.getByRole('button', { name: 'The same as a command or a call' }).click();
    await page.getByText(/^gpuaas launch first --project aurora\/vision --sku h200-sxm-slice --gpus 2/).waitFor();
    await page.getByRole('button', { name: 'Launch 2 GPUs' }).click();

    await page.getByRole('heading', { name: 'first', level: 1 }).waitFor();
    await page.getByRole('main').getByText('Running', { exact: true }).first().waitFor();
    await page.getByText(/^gpuaas ssh alc_/).waitFor();
    const timeline = page.getByRole('list', { name: 'Timeline' });
    await timeline.getByRole('listitem').nth(3).waitFor();
    await page.getByRole('tab', { name: 'Usage and cost' }).click();
    await page.getByText('Cost so far').waitFor();
    await giveBack(page, 'first');
    await page.getByRole('tab', { name: 'Wipe proofs' }).click();
    await page.getByText(/^Signed by the node with the key/).first().waitFor();

    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: /Sign out/ }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.goto(`${platform.url}/tokens`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });
});

test('an operator puts the field right that blocks a slot, and approves the slots of a new node', async () => {
  const node = catalogue.nodes['h200-slices-07'];
  await inWindow(platform.windowOf('platform_operator'), async (page) => {
    await page.goto(`${platform.url}/operator/nodes/${node.id}/slots`);
    await page.getByRole('heading', { name: 'Slots of h200-slices-07' }).waitFor();
    const card = page.locator('section.card').filter({ has: page.getByRole('heading', { name: 'Module 5' }) });
    await card.getByRole('button', { name: 'Edit and approve' }).click();
    const dialog = page.getByRole('dialog');
    const address = dialog.getByRole('textbox', { name: 'Private address' });
    const proposed = await address.inputValue();
    await address.fill('192.0.2.7');
    await dialog.getByRole('button', { name: 'Approve' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByRole('alert').getByText(/private_ip/).first().waitFor();
    await address.fill(proposed);
    await dialog.getByRole('button', { name: 'Approve' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Approve all 7 complete' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading', { name: /· 8$/ }).waitFor();
    assert.equal(await page.getByRole('button', { name: /^Approve all/ }).count(), 0);
  });
  const slots = await platform.call('platform_operator', 'GET', `/api/v1/admin/nodes/${node.id}/resource-slots`);
  assert.equal(slots.items.length, 8);
});

test('somebody whose launch cannot be placed reads why', async () => {
  const nodes = Object.values(catalogue.nodes).filter((node) => node.name.startsWith('a100-'));
  const turn = async (node, action, body) => {
    const { version } = await platform.call('platform_operator', 'GET', `/api/v1/admin/nodes/${node.id}`);
    await platform.call('platform_operator', 'POST', `/api/v1/admin/nodes/${node.id}/${action}`, body, { 'if-match': `"${version}"` });
  };
  await keyOf(platform, 'project_member', catalogue.projects['aurora/vision'].id);
  for (const node of nodes) await turn(node, 'drain', { reason: 'the hall is rewired' });
  await inWindow(platform.windowOf('project_member'), async (page) => {
    await page.goto(`${platform.url}/projects/${catalogue.projects['aurora/vision'].id}/launch`);
    await choose(page, /^A100 SXM/);
    await page.getByRole('textbox', { name: 'Name' }).fill('nowhere');
    await page.getByText('There is no place for it now').waitFor();
    await page.getByRole('button', { name: 'Launch 1 GPU' }).click();
    await page.getByRole('heading', { name: 'nowhere', level: 1 }).waitFor();
    await page.getByText('It could not be placed', { exact: true }).waitFor();
    await page.getByText('Nodes that were passed over').waitFor();
    await page.getByRole('link', { name: 'Try another size, region or form' }).waitFor();
  });
  for (const node of nodes) await turn(node, 'undrain');
});

test('what belongs to another tenant is not there', async () => {
  const foreign = await launch(platform, catalogue, 'platform_operator', { project: 'borealis/genomics', name: 'theirs', sku: 'a100-sxm-slice', gpus: 1 });
  const project = catalogue.projects['borealis/genomics'];
  await inWindow(platform.windowOf('project_member'), async (page) => {
    for (const path of [`/allocations/${foreign}`, `/projects/${project.id}/allocations/${foreign}`, `/projects/${project.id}/ssh-keys`, '/no/such/page']) {
      await page.goto(platform.url + path);
      await page.getByRole('heading', { name: 'There is nothing here', level: 2 }).waitFor();
      // Where the API was asked, its code is shown with where to read on; a path that is no page needs no asking.
      if (path !== '/no/such/page') assert.equal(await page.getByRole('alert').getByRole('link', { name: 'What it means and what to do' }).getAttribute('href'), '/docs/errors/not_found');
      assert.equal(await page.getByText('theirs').count(), 0);
    }
    await page.goto(`${platform.url}/operator/fleet`);
    await page.getByText('Your role does not allow this').waitFor();
  });
});

test('somebody without a mouse signs in and launches', async () => {
  await keyOf(platform, 'project_member', catalogue.projects['aurora/vision'].id);
  await inWindow(platform.window(), async (page) => {
    const press = (key) => page.keyboard.press(key);
    await page.goto(platform.url);
    await tabTo(page, 'textbox', 'Token');
    await page.keyboard.type(platform.tokens.project_member);
    await press('Enter');
    await page.getByRole('heading', { name: 'Available right now' }).waitFor();
    await tabTo(page, 'link', 'Skip to the content');
    await tabTo(page, 'link', 'Launch');
    await press('Enter');
    await page.getByRole('heading', { name: 'Launch', level: 1 }).waitFor();
    await page.getByRole('radio', { name: /^1 GPU/ }).waitFor();
    for (let presses = 0; !(await page.getByRole('radio', { name: /^[1248] GPUs?/, checked: true }).evaluate((radio) => radio === document.activeElement)); presses += 1) {
      assert.ok(presses < 120, 'Tab leads to the sizes');
      await press('Tab');
    }
    await press('ArrowRight');
    await page.getByRole('radio', { name: /^2 GPUs/, checked: true }).waitFor();
    await tabTo(page, 'textbox', 'Name');
    await page.keyboard.type('by-hand');
    await tabTo(page, 'button', 'Launch 2 GPUs');
    await press('Enter');
    await page.getByRole('heading', { name: 'by-hand', level: 1 }).waitFor();
    await page.getByRole('main').getByText('Running', { exact: true }).first().waitFor();
    await tabTo(page, 'button', 'Give back');
    await press('Enter');
    await page.getByRole('alertdialog').waitFor();
    await press('Escape');
    await page.getByRole('alertdialog').waitFor({ state: 'detached' });
    await tabTo(page, 'button', 'Give back');
    await press('Enter');
    await tabTo(page, 'button', 'Cancel');
    await press('Tab');
    await press('Enter');
    await page.getByRole('main').getByText('Released', { exact: true }).first().waitFor();
  });
});

test('an operator drains a node, and puts it back into service', async () => {
  const node = catalogue.nodes['h200-slices-03'];
  await inWindow(platform.windowOf('platform_operator'), async (page) => {
    await page.goto(`${platform.url}/operator/nodes/${node.id}`);
    await page.getByRole('button', { name: 'Drain', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Drain h200-slices-03?' });
    await dialog.getByRole('textbox').fill('new fans');
    await dialog.getByRole('button', { name: 'Drain' }).click();
    await page.getByText(/: new fans$/).waitFor();
    const shown = await platform.call('platform_operator', 'GET', `/api/v1/admin/nodes/${node.id}`);
    assert.equal(shown.desired, 'drained');
    await page.getByRole('button', { name: 'End drain' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'End drain' }).click();
    await page.getByRole('button', { name: 'Drain', exact: true }).waitFor();
  });
});

test('somebody who is told to go reads for whom, by which rule, and until when', async () => {
  const speech = catalogue.projects['aurora/speech'];
  const mine = await launch(platform, catalogue, 'tenant_admin', { project: 'aurora/speech', name: 'train', sku: 'h200-sxm-slice', gpus: 8 });
  await inWindow(platform.windowOf('tenant_admin'), async (page) => {
    await page.goto(`${platform.url}/projects/${speech.id}/allocations/${mine}`);
    await page.getByRole('main').getByText('Running', { exact: true }).first().waitFor();
    await page.goto(`${platform.url}/projects/${speech.id}/queue`);
    await page.getByRole('link', { name: 'train' }).click();
    await page.getByRole('heading', { name: 'train', level: 1 }).waitFor();
    await page.getByText('4 GPUs', { exact: true }).waitFor();
    // Nothing is loaded again from here on: the page is told.
    await launch(platform, catalogue, 'platform_operator', { project: 'borealis/climate', name: 'model', sku: 'h200-sxm-slice', gpus: 4 });
    await page.getByText('Preempting', { exact: true }).waitFor();
    const told = page.getByRole('list', { name: 'Told to go' });
    await told.getByText('borealis-climate').waitFor();
    await told.getByText('30 s').waitFor();
    await told.getByText('its notice runs').waitFor();
  });
});

/** Adds a webhook on a page, tries it out, reads its log and has it sent again. */
async function tryWebhook(role, path) {
  const received = [];
  const receiver = createServer((request, response) => {
    received.push(request.headers);
    request.resume();
    response.end('thanks');
  });
  await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${receiver.address().port}/hook`;
  try {
    await inWindow(platform.windowOf(role), async (page) => {
      await page.goto(platform.url + path);
      await page.getByText('No webhook').waitFor();
      await page.getByRole('button', { name: 'Add a webhook' }).click();
      const dialog = page.getByRole('dialog', { name: 'Add a webhook' });
      await dialog.getByRole('textbox', { name: 'Address' }).fill(address);
      await dialog.getByRole('textbox', { name: 'Events' }).fill('webhook.tested');
      await dialog.getByRole('button', { name: 'Add a webhook' }).click();
      await page.getByText(/^whsec_/).waitFor();
      await page.getByRole('button', { name: 'I have it' }).click();
      await page.getByRole('link', { name: address }).click();
      const arrival = once(receiver, 'request');
      await page.getByRole('button', { name: 'Try it out' }).click();
      await arrival;
      assert.ok(received[0]['webhook-signature'].startsWith('v1,'));
      await page.reload();
      await page.getByText('Delivered', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Details' }).click();
      await page.getByRole('dialog').getByText('thanks').waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
      const again = once(receiver, 'request');
      await page.getByRole('button', { name: 'Send again' }).click();
      await again;
      assert.equal(received[1]['webhook-id'], received[0]['webhook-id']);
      await page.getByRole('button', { name: 'Remove' }).click();
      await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
      await page.getByText('No webhook').waitFor();
    });
  } finally {
    receiver.closeAllConnections();
    await new Promise((resolve) => receiver.close(resolve));
  }
}

test('an administrator adds a webhook, tries it out, reads its log, has it sent again, and removes it', async () => {
  await tryWebhook('tenant_admin', `/tenants/${catalogue.projects['aurora/vision'].tenant_id}/webhooks`);
});

test('an operator does the same with a webhook of the platform', async () => {
  await tryWebhook('platform_operator', '/operator/webhooks');
});

test('somebody launches whatever a hardware profile gives, with a priority and a longest run; where there is no queue they read why not', async () => {
  await platform.call('platform_operator', 'PUT', '/api/v1/hardware-profiles/any-gpu', { slug: 'any-gpu', name: 'Any GPU' });
  const speech = catalogue.projects['aurora/speech'];
  await keyOf(platform, 'tenant_admin', speech.id);
  const choose = async (page, label, option) => {
    await page.getByRole('button', { name: new RegExp(`${label}$`) }).click();
    await page.getByRole('option', { name: option }).click();
  };
  await inWindow(platform.windowOf('tenant_admin'), async (page) => {
    await page.goto(`${platform.url}/projects/${catalogue.projects['aurora/vision'].id}/launch`);
    await page.getByText('Only for projects with a queue; this one has none.').waitFor();
    assert.ok(await page.getByRole('radio', { name: /^Any GPU/ }).isDisabled());
    await page.getByText(/^This project has no queue/).waitFor();
    await page.getByText('Nothing to choose: the disk belongs to the GPU’s slot.').waitFor();

    await page.goto(`${platform.url}/projects/${speech.id}/launch`);
    await page.getByRole('radio', { name: /^Any GPU/ }).locator('xpath=ancestor::label').click();
    await page.getByRole('textbox', { name: 'Name' }).fill('whatever');
    await choose(page, 'Priority', /^urgent/);
    await choose(page, 'Runs at most', '4 h');
    await page.getByRole('button', { name: 'The same as a command or a call' }).click();
    await page.getByText(/^gpuaas launch whatever --project aurora\/speech --hardware-profile any-gpu --gpus 1 .*--priority-class urgent --max-run 14400s/).waitFor();
    await page.getByRole('button', { name: 'Launch 1 GPU' }).click();
    await page.getByRole('heading', { name: 'whatever', level: 1 }).waitFor();
  });
  const { items } = await platform.call('tenant_admin', 'GET', `/api/v1/projects/${speech.id}/workloads`);
  const made = items.find((each) => each.name === 'whatever');
  assert.equal(made.priority_class, 'urgent');
  assert.equal(made.max_run_s, 14_400);
});

test('a lost connection is shown, and heals by itself', async () => {
  await inWindow(platform.windowOf('project_member'), async (page) => {
    const project = catalogue.projects['aurora/vision'];
    await page.goto(`${platform.url}/projects/${project.id}/ssh-keys`);
    await page.getByText('Live', { exact: true }).waitFor();
    await platform.stopProgram();
    await page.getByText(/^Connection lost, trying again in/).waitFor();
    await platform.startProgramAgain();
    await page.getByText('Live', { exact: true }).waitFor();
    // What happens afterwards is told again.
    await platform.call('project_member', 'POST', `/api/v1/projects/${project.id}/ssh-keys`, { name: 'after-the-break', public_key: newPublicKey() });
    await page.getByText('after-the-break').waitFor();
  });
});
