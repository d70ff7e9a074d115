import { openStore, type SqlStore } from '@agentlightning/store';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Dashboard, serveDashboard } from '../src/index.ts';
import { type BrowserPages, chromiumPath, startBrowser } from './browser-pages.ts';
import {
  fillStore,
  type SampleTexts,
  sampleAuditor,
  sampleReplayer,
  sampleRunId,
  sampleTexts,
} from './sample-store.ts';

/** The browser starts and draws slowly on a busy machine. */
vi.setConfig({ testTimeout: 90_000, hookTimeout: 120_000 });

const corpus = [
  '<script>window.hostile=1</script>',
  '<img src=x onerror="window.hostile=1">',
  '"><svg onload=window.hostile=1>',
  "';window.hostile=1//",
  'javascript:window.hostile=1',
  '[link](javascript:window.hostile=1)',
  '<a href="https://attacker.example">link</a> https://attacker.example/?q=1',
  '</pre></title></textarea><iframe srcdoc="<script>parent.hostile=1</script>"></iframe>',
  '<style>body{display:none}</style><link rel=stylesheet href=https://attacker.example/a.css>',
  '<form action=https://attacker.example><input name=key autofocus onfocus=window.hostile=1></form>',
  `{{constructor.constructor("window.hostile=1")()}} ${'$'}{window.hostile=1}`,
  '__proto__ \u202egnp.exe \u001b[2J',
];

const hostile = corpus.join('\n');

/** Every text of the sample is the whole corpus; the store accepts only plain ids. */
const texts = Object.fromEntries(Object.keys(sampleTexts).map((name) => [name, hostile])) as unknown as SampleTexts;

const rollout = '/rollouts/ro-2-1-2';
const views = [
  ['/', '<svg onload'],
  [`/runs/${sampleRunId}`, 'All metrics'],
  [`/runs/${sampleRunId}?metric=${encodeURIComponent(corpus[1] ?? '')}`, 'No metric has this name'],
  [`/runs/${sampleRunId}/tasks?task=1&step=2`, 'ro-2-1-2'],
  [`/runs/${sampleRunId}/dataset`, 'The same by program'],
  [`/runs/${sampleRunId}/audit`, 'A second judge'],
  [`/compare?runs=${sampleRunId},run-hostile&metric=${encodeURIComponent(corpus[1] ?? '')}`, '<svg onload'],
  ['/rollouts', '36 rollouts'],
  [`/rollouts?id=${encodeURIComponent(corpus[0] ?? '')}`, 'No rollouts match'],
  [rollout, 'Call 2'],
  ['/rollouts/ro-1-0-0', 'The agent failed'],
  [`${rollout}?view=trace`, '5 steps'],
  [`${rollout}?view=trace&layout=graph`, 'calls × 1'],
  [`${rollout}?view=replay`, 'Sends the recorded request again'],
  [`${rollout}?view=tokens`, 'finish reason stop'],
  [`${rollout}?view=raw`, 'Copy as curl'],
  [`${rollout}?view=task`, 'Task input'],
  [`/rollouts/${encodeURIComponent('<img src=x onerror=window.hostile=1>')}`, 'Not found'],
  ['/workers', '<svg onload'],
] as const;

describe.skipIf(chromiumPath === null)('text of agents and models', () => {
  let store: SqlStore;
  let browser: BrowserPages;
  let dashboard: Dashboard;

  beforeAll(async () => {
    store = await openStore(':memory:');
    await fillStore(store, { ...texts, worker: sampleTexts.worker });
    await store.createRun({ runId: 'run-hostile', name: hostile, config: {} });
    browser = await startBrowser();
    dashboard = await serveDashboard({
      store,
      webFolder: browser.webFolder,
      auditor: sampleAuditor(hostile),
      label: hostile,
      replayer: sampleReplayer(hostile),
    });
  });

  afterAll(async () => {
    await dashboard?.close();
    await browser?.close();
    await store?.close();
  });

  test.each(views)('is only text on %s', async (path, text) => {
    const { page, problems } = await browser.open();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(dashboard.url + path);
    await page.getByText(text).first().waitFor();
    for (const details of await page.locator('summary').all()) await details.click();
    for (const row of await page.locator('.trace-row').all()) await row.click();
    for (const replay of await page.getByRole('button', { name: 'Replay' }).all()) {
      await replay.click();
      await page.getByRole('region', { name: 'Response of the replay' }).waitFor();
    }
    const found = await page.evaluate(`({
      hostile: window.hostile ?? null,
      elements: document.querySelectorAll('iframe, form:not([method=dialog]), main img, style, script:not([src])').length,
      handlers: [...document.querySelectorAll('*')].flatMap((each) => each.getAttributeNames()).filter((name) => name.startsWith('on')),
      foreignLinks: [...document.querySelectorAll('a')].filter((link) => link.origin !== location.origin).map((link) => link.href),
    })`);
    expect(found).toEqual({ hostile: null, elements: 0, handlers: [], foreignLinks: [] });
    expect(requests.filter((url) => !url.startsWith(dashboard.url))).toEqual([]);
    expect(problems).toEqual([]);
    await page.context().close();
  });
});
