import { openStore, type SqlStore } from '@agentlightning/store';
import { AxeBuilder } from '@axe-core/playwright';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Dashboard, serveDashboard } from '../src/index.ts';
import { type BrowserPages, chromiumPath, startBrowser } from './browser-pages.ts';
import { fillStore, sampleAuditor, sampleReplayer, sampleRunId, sampleTexts, scoredRollout } from './sample-store.ts';

/** The browser starts and draws slowly on a busy machine. */
vi.setConfig({ testTimeout: 90_000, hookTimeout: 120_000 });

const rollout = '/rollouts/ro-2-1-2';

/** A second run, with one step and without rollouts. */
const otherRunId = 'run-other';

/** A prompt search with two versions. */
const searchRunId = 'run-search';

const versionOf = (version: string, template: string, taskScores: readonly number[]) => ({
  version,
  prompts: {
    system: { resourceType: 'prompt_template', template, engine: 'f-string' },
    shots: { resourceType: 'prompt_template', template: version === 'v0' ? '' : 'Q: 1\nA: 2', engine: 'f-string' },
  },
  ...(version === 'v0' ? {} : { examples: { shots: [{ task: 4, reward: 1, rolloutId: 'ro-2-1-2' }] } }),
  parents: version === 'v0' ? [] : ['v0'],
  score: taskScores.reduce((sum, score) => sum + score, 0) / taskScores.length,
  scoredTasks: taskScores.length,
  taskScores,
});

const searchConfig = { prompts: { system: {}, shots: {} }, searched: { shots: { kind: 'examples', count: 1 } } };

const searchState = {
  kind: 'prompt-search',
  best: 'v1',
  ended: 'finished',
  measuredOn: 'test',
  before: { reward: 0, ci95: [0, 0.2], rollouts: 10, missing: 0 },
  after: { reward: 1, ci95: [0.8, 1], rollouts: 10, missing: 0 },
  versions: [
    versionOf('v0', 'Answer the question.', [0, 1]),
    versionOf('v1', 'Answer the question with a number.', [1, 0.5]),
  ],
};

const deploymentState = {
  kind: 'deployment',
  live: 'run-1@30',
  candidate: {
    version: 'run-2@40',
    share: 0.2,
    key: 'a key',
    sinceMs: 60_000,
    isPromotedWhenBetter: true,
    maxCostRatio: 2,
    isFallAccepted: false,
  },
  versions: ['run-1@30', 'run-2@40'].map((version) => ({
    version,
    kind: 'weights',
    run: version.split('@')[0],
    step: 30,
    baseModel: 'tiny-chat',
    data: null,
    configSha256: null,
    source: { type: 'embedded' },
    location: { policy: 'uri' },
    digest: null,
    prompts: null,
    reward: 0.5,
  })),
  history: [
    { timeMs: 1, action: 'promote', version: 'run-1@30', previous: null, share: null, by: 'ada', reason: 'first' },
    {
      timeMs: 60_000,
      action: 'canary',
      version: 'run-2@40',
      previous: 'run-1@30',
      share: 0.2,
      by: 'ada',
      reason: 'fewer complaints',
    },
  ],
};

/** Assessments of three minutes, in which the interval of the difference of the score shrinks. */
const assessments = [2, 3, 4].map((step) => ({
  runId: 'support-agent',
  step,
  timeMs: step * 60_000,
  values: {
    'canary/share': 0.2,
    'canary/verdict': step === 4 ? 1 : 0,
    'canary/score/verdict': step === 4 ? 1 : 0,
    'canary/score/live': 0.5,
    'canary/score/candidate': 0.75,
    'canary/score/low': 0.25 - 0.9 / step,
    'canary/score/high': 0.25 + 0.9 / step,
    'canary/score/live_users': step * 40,
    'canary/score/candidate_users': step * 10,
  },
}));

/** Every page and view, with a text that appears when its data has arrived. */
const pages: readonly (readonly [path: string, text: string])[] = [
  ['/', sampleTexts.name],
  [`/runs/${sampleRunId}?step=2&against=${otherRunId}`, 'Rollouts of step 2'],
  [`/runs/${sampleRunId}/tasks?task=1&step=2&compare=best`, 'ro-2-1-2'],
  [`/runs/${sampleRunId}/dataset?from=rewards&minReward=0.5`, '--min-reward 0.5'],
  [`/runs/${sampleRunId}/audit`, 'responses became longer'],
  ['/rollouts', '36 rollouts'],
  [`/rollouts?run=${sampleRunId}&sort=reward-low&minReward=0.4`, 'ro-1-0-1'],
  ['/rollouts?text=such', '3 rollouts'],
  [rollout, sampleTexts.answer],
  ['/rollouts/ro-1-0-0', sampleTexts.failure],
  [`${rollout}?view=trace`, '5 steps'],
  [`${rollout}?view=trace&layout=graph`, 'calls × 1'],
  [`${rollout}?view=replay`, 'Sends the recorded request again'],
  [`${rollout}?view=tokens&color=ratio`, 'ratio ≥ 2'],
  [`${rollout}?view=tokens&color=advantage`, 'advantage ≥ 1: made more likely'],
  [`${rollout}?view=raw`, 'Copy as curl'],
  [`${rollout}?view=task`, 'task_index'],
  [`/rollouts/${scoredRollout}`, 'two of four facts'],
  [`/compare?runs=${sampleRunId},${otherRunId}`, 'reward/mean'],
  ['/compare', 'Choose runs to compare'],
  ['/workers', 'Trainers and other workers'],
  [`/runs/${searchRunId}/prompts`, 'v1, differences from v0'],
  ['/runs/run-none', 'Not found'],
  ['/rollouts/ro-none', 'Not found'],
  ['/deployments', '20 %'],
  ['/deployments/support-agent', 'fewer complaints'],
  ['/deployments/run-none', 'Not found'],
  ['/nothing', 'There is nothing at this address'],
];

describe.skipIf(chromiumPath === null)('web pages', () => {
  let store: SqlStore;
  let browser: BrowserPages;
  let dashboard: Dashboard;

  beforeAll(async () => {
    store = await openStore(':memory:');
    await fillStore(store);
    await store.createRun({ runId: otherRunId, name: 'other run', config: {} });
    const point = { runId: otherRunId, step: 1, timeMs: 1, values: { 'reward/mean': 0.5, 'other/metric': 2 } };
    await store.updateRun(otherRunId, { status: 'failed', state: { finishedStep: 1 } }, [point]);
    await store.createRun({ runId: searchRunId, name: 'prompt search', config: searchConfig });
    await store.updateRun(searchRunId, { status: 'finished', state: JSON.parse(JSON.stringify(searchState)) });
    await store.createRun({ runId: 'support-agent', name: 'support-agent', config: {} });
    await store.updateRun('support-agent', { state: JSON.parse(JSON.stringify(deploymentState)) }, assessments);
    browser = await startBrowser();
    dashboard = await serveDashboard({
      store,
      webFolder: browser.webFolder,
      replayer: sampleReplayer('There are 46.'),
      auditor: sampleAuditor('responses became longer'),
    });
  });

  afterAll(async () => {
    await dashboard?.close();
    await browser?.close();
    await store?.close();
  });

  async function visit(path: string, text: string): Promise<Page> {
    const { page } = await browser.open();
    await page.goto(dashboard.url + path);
    await page.getByText(text).first().waitFor();
    return page;
  }

  async function expectAccessible([path, text]: (typeof pages)[number], options: BrowserContextOptions): Promise<void> {
    const { page, problems } = await browser.open(options);
    await page.goto(dashboard.url + path);
    await page.getByText(text).first().waitFor();
    await assertAccessible(page);
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    expect({ problems, overflow }).toEqual({ problems: [], overflow: 0 });
    await page.context().close();
  }

  test.each(pages)('%s is accessible, narrow and dark', async (...page) => {
    await expectAccessible(page, { viewport: { width: 360, height: 740 }, colorScheme: 'dark' });
  });

  describe.each([
    ['wide and light', 1400, 'light'],
    ['wide and dark', 1400, 'dark'],
    ['narrow and light', 360, 'light'],
  ] as const)('%s', (_, width, colorScheme) => {
    test.each(pages)('%s is accessible', { tags: ['long'] }, async (...page) => {
      await expectAccessible(page, { viewport: { width, height: 900 }, colorScheme });
    });
  });

  test('tasks that a run has set aside are listed with links to their rollouts', async () => {
    const current = [
      { task: 2, rollouts: 9, isSolved: false, latest: ['ro-2-1-2', 'ro-3-2-1'] },
      { task: 3, rollouts: 9, isSolved: true, latest: [] },
    ];
    const config = { collection: { curriculum: { setAsideAfter: 8 } } };
    await store.createRun({ runId: 'run-aside', name: 'run with unsolved tasks', config });
    await store.updateRun('run-aside', { status: 'finished', state: { taskTrials: { current, saved: [] } } });
    const page = await visit('/runs/run-aside', 'Unsolved tasks: 1 set aside');
    const table = page.getByRole('region', { name: 'Unsolved tasks' }).last();
    expect(await table.locator('tbody tr').allTextContents()).toEqual(['29ro-2-1-2 ro-3-2-1 ']);
    await assertAccessible(page);
    await page.getByRole('link', { name: 'ro-2-1-2' }).click();
    await page.getByText(sampleTexts.answer).first().waitFor();
    await store.deleteRun('run-aside');
    await page.context().close();
  });

  test('the publications of weights of a live run are listed with their verification', async () => {
    const published = (version: number, probe: object | null) => ({
      step: version,
      policy: null,
      version,
      timeMs: 1_700_000_000_000 + version,
      durationMs: 250,
      digest: `sha256:${version}`.padEnd(71, '0'),
      probe,
    });
    const publications = [published(1, null), published(2, { gap: 0.002, limit: 0.05, tokens: 128 })];
    await store.createRun({ runId: 'run-live', name: 'live run', config: {} });
    await store.updateRun('run-live', { state: JSON.parse(JSON.stringify({ publications })) });
    const page = await visit('/workers', 'Publications of weights');
    const rows = await page.getByLabel('Publications of weights').locator('tbody tr').allTextContents();
    expect(rows.map((row) => /250 ms.*/.exec(row)?.[0])).toEqual([
      '250 msgap 0.002 of at most 0.050 nats, 128 tokens200000000000',
      '250 msnot compared100000000000',
    ]);
    await assertAccessible(page);
    await store.updateRun('run-live', { status: 'stopped' });
    await store.deleteRun('run-live');
    await page.context().close();
  });

  test('a new run and its rewards appear without a reload', async () => {
    const page = await visit('/', sampleTexts.name);
    await page.getByText('Live').waitFor();
    await store.createRun({ runId: 'run-live', name: 'live run', config: { steps: 5 } });
    await page.getByText('live run').waitFor();
    await store.updateRun('run-live', { state: { finishedStep: 3 } });
    await page.getByText('3/5').waitFor();
    await store.updateRun('run-live', { status: 'stopped' });
    await page.getByRole('region', { name: 'Runs' }).getByText('stopped').waitFor();
    await store.deleteRun('run-live');
    await page.context().close();
  });

  test('a lost connection is shown with its reason, and heals when the server returns', async () => {
    const first = await serveDashboard({ store, webFolder: browser.webFolder });
    const { page } = await browser.open();
    await page.goto(first.url);
    await page.getByText('Live').waitFor();
    await first.close('The training has ended.');
    await page.getByText('Connection lost').waitFor();
    await page.getByText('The training has ended.').waitFor();
    await assertAccessible(page);
    const second = await serveDashboard({ store, webFolder: browser.webFolder, port: first.port });
    await page.getByText('Live').waitFor();
    await page.getByText('The training has ended.').waitFor({ state: 'detached' });
    await page.context().close();
    await second.close();
  });

  test('the keyboard opens the help, finds the search field and moves through rows', async () => {
    const page = await visit('/rollouts', '36 rollouts');
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('Next row').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    expect(await page.evaluate('document.activeElement.type')).toBe('search');
    await page.keyboard.press('Escape');
    const focused = async (): Promise<unknown> => await page.evaluate('document.activeElement.textContent');
    const rows = await page.locator('[data-row]').allTextContents();
    await page.keyboard.press('j');
    expect(await focused()).toBe(rows[0]);
    await page.keyboard.press('j');
    expect(await focused()).toBe(rows[1]);
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: rows[0] ?? '' }).waitFor();
    await page.context().close();
  });

  test('filters are in the URL and survive a reload', async () => {
    const page = await visit('/rollouts', '36 rollouts');
    await page.getByRole('combobox', { name: 'Status' }).selectOption('failed');
    await page.getByText('3 rollouts').waitFor();
    expect(new URL(page.url()).search).toBe('?status=failed');
    await page.reload();
    await page.getByText('3 rollouts').waitFor();
    await page.getByText('Columns', { exact: true }).click();
    await page.getByRole('checkbox', { name: 'Worker' }).check();
    await page.getByRole('cell', { name: sampleTexts.worker }).first().waitFor();
    expect(new URL(page.url()).searchParams.get('columns')).toContain('attempts.worker');
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByText('36 rollouts').waitFor();
    await page.context().close();
  });

  test('the arrow keys move through the heat map, and the group is shown side by side', async () => {
    const page = await visit(`/runs/${sampleRunId}/tasks?task=0&step=1`, 'Task 0, step 1');
    await page.getByLabel(/^Heat map/).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowRight');
    await page.getByRole('heading', { name: 'Task 1, step 2' }).waitFor();
    expect(await page.locator('nav [data-section=current]').textContent()).toBe('Runs');
    await page.getByRole('link', { name: 'ro-2-1-0' }).waitFor();
    expect(await page.locator('.sibling').count()).toBe(3);
    await page.getByRole('link', { name: 'Compare with the highest reward' }).click();
    await page.locator('.sibling .difference').nth(1).waitFor();
    expect(new URL(page.url()).search).toBe('?task=1&step=2&compare=best');
    await page.context().close();
  });

  test('runs are chosen for a comparison on shared axes', async () => {
    const page = await visit('/', 'other run');
    await page.getByLabel('Compare other run').check();
    await page.getByLabel(`Compare ${sampleTexts.name}`).check();
    await page.getByRole('link', { name: 'Compare 2 runs' }).click();
    await page.getByLabel('Metric').selectOption('other/metric');
    await page.getByLabel(/^other\/metric by step.*other run \(run-other\): first 2, last 2/).waitFor();
    const search = new URL(page.url()).searchParams;
    expect([search.get('runs'), search.get('metric')]).toEqual([`${otherRunId},${sampleRunId}`, 'other/metric']);
    await page.getByRole('row', { name: /^algorithm.type – "grpo"/ }).waitFor();
    await page.context().close();
  });

  test('the slider moves all panels of a run to a step, and the configuration is compared', async () => {
    const page = await visit(`/runs/${sampleRunId}`, 'Time of a step (mean)');
    await page.getByRole('slider', { name: 'Step' }).fill('1');
    await page.getByRole('heading', { name: 'Time of step 2' }).waitFor();
    await page.getByRole('heading', { name: /^reward.mean 0.5/ }).waitFor();
    await page.getByLabel('Compare with run').selectOption(otherRunId);
    await page.getByRole('row', { name: 'steps 3 –' }).waitFor();
    expect(new URL(page.url()).search).toBe(`?step=2&against=${otherRunId}`);
    await page.context().close();
  });

  test('the versions of a prompt search are a tree with scores and differences', async () => {
    const page = await visit(`/runs/${searchRunId}`, 'Prompts');
    await page.getByRole('link', { name: 'Prompts' }).click();
    await page.getByRole('row', { name: 'v1 · highest score 0.750 2 1 task v0' }).waitFor();
    const differences = page.locator('.difference ins');
    expect((await differences.allTextContents())[0]).toBe(' with a number');
    await page.getByRole('heading', { name: 'shots · examples' }).waitFor();
    const example = page.getByRole('region', { name: 'shots' }).getByRole('link', { name: 'ro-2-1-2' });
    expect(await example.getAttribute('href')).toMatch(/^\/rollouts\/ro-2-1-2/);
    await page.getByRole('link', { name: 'v0', exact: true }).click();
    await page.getByRole('heading', { name: 'v0', exact: true }).waitFor();
    expect(new URL(page.url()).search).toBe('?version=v0');
    await page.context().close();
  });

  test('the overview of a prompt search has its rewards, its versions and the changes of the best one', async () => {
    const page = await visit(`/runs/${searchRunId}`, 'Held-out reward');
    const tile = page.locator('.tile', { hasText: 'Held-out reward' });
    expect(await tile.locator('dd').textContent()).toBe('0 → 1+1');
    await page.getByRole('heading', { name: 'v1, differences from v0' }).waitFor();
    expect(await page.getByText('not measured').count()).toBe(0);
    await page.context().close();
  });

  test('runs are filtered by kind and text, and no column is clipped at 1,280 pixels', async () => {
    const { page } = await browser.open({ viewport: { width: 1280, height: 800 } });
    await store.createRun({ runId: 'run-dev', name: 'tried', config: { purpose: 'development', tags: ['try'] } });
    await store.updateRun('run-dev', { status: 'finished', state: { kind: 'evaluation' } });
    await page.goto(dashboard.url);
    await page.getByText('1 warning').waitFor();
    expect(await page.getByText('tried').count()).toBe(0);
    const clipped = await page.evaluate(
      '[...document.querySelectorAll(".scroll-region")].map((e) => e.scrollWidth - e.clientWidth)',
    );
    expect(clipped).toEqual([0]);
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('all');
    await page.getByRole('link', { name: 'try', exact: true }).click();
    await page.getByRole('link', { name: sampleTexts.name }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'tried' }).waitFor();
    expect(new URL(page.url()).search).toBe('?kind=all&tag=try');
    await store.deleteRun('run-dev');
    await page.context().close();
  });

  test('the messages of a rollout are on the first screen', async () => {
    const { page } = await browser.open({ viewport: { width: 1280, height: 800 } });
    await page.goto(dashboard.url + rollout);
    const question = page.getByText(sampleTexts.task).first();
    await question.waitFor();
    expect((await question.boundingBox())?.y).toBeLessThan(600);
    await page.context().close();
  });

  test('charts have smoothing and a time axis, and the choice is in the URL', async () => {
    const page = await visit(`/runs/${sampleRunId}`, 'Reward: training and held-out');
    await page.getByLabel('Axis').selectOption('time');
    await page.getByLabel('Smoothing').selectOption('0.9');
    await page.locator('.u-legend', { hasText: 'time' }).first().waitFor();
    expect(new URL(page.url()).search).toBe('?axis=time&smooth=0.9');
    await page.context().close();
  });

  test('tokens are coloured by log-probability or mask, and the choice is in the URL', async () => {
    const page = await visit(`${rollout}?view=tokens`, 'finish reason stop');
    expect(await page.locator('.tokens .token').allTextContents()).toEqual(['There', ' are', sampleTexts.answer]);
    expect(await page.locator('.tokens .token').first().getAttribute('data-level')).toBe('0');
    await page.getByRole('button', { name: 'Training mask' }).click();
    await page.locator('.tokens .token[data-level=trained]').first().waitFor();
    expect(new URL(page.url()).searchParams.get('color')).toBe('mask');
    await page.getByText('Step 2 trained on it with the advantage 1.').waitFor();
    await page.getByRole('button', { name: 'Advantage' }).click();
    expect(await page.locator('p.tokens .token').first().getAttribute('data-level')).toBe('up-3');
    await page.context().close();
  });

  test('a model call is replayed, and the responses are compared', async () => {
    const page = await visit(`${rollout}?view=replay`, 'Sends the recorded request again');
    await page.getByLabel('Temperature').fill('0.5');
    await page.getByRole('button', { name: 'Replay' }).click();
    await page
      .getByRole('region', { name: 'Response of the replay' })
      .getByText('There are 46.', { exact: true })
      .waitFor();
    expect(await page.locator('.difference ins').allTextContents()).toEqual(['46']);
    await assertAccessible(page);
    await page.context().close();
  });

  test('an empty store says how to get data', async () => {
    const empty = await openStore(':memory:');
    const served = await serveDashboard({ store: empty, webFolder: browser.webFolder });
    const { page } = await browser.open();
    for (const [path, text] of [
      ['/', 'No runs yet'],
      ['/rollouts', 'No rollouts yet'],
      ['/workers', 'No workers yet'],
    ] as const) {
      await page.goto(served.url + path);
      await page.getByText(text).waitFor();
      await assertAccessible(page);
    }
    await page.context().close();
    await served.close();
    await empty.close();
  });

  test('a viewer enters the key once', async () => {
    const locked = await serveDashboard({ store, webFolder: browser.webFolder, viewerKey: 'a-viewer-key' });
    const { page } = await browser.open();
    await page.goto(locked.url);
    await page.getByLabel('Key', { exact: true }).fill('wrong');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByText('The key is wrong').waitFor();
    await assertAccessible(page);
    await page.getByLabel('Key', { exact: true }).fill('a-viewer-key');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByText(sampleTexts.name).waitFor();
    await page.context().close();
    await locked.close();
  });
});

async function assertAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`)).toEqual([]);
}
