/**
 * `pnpm bench dashboard`: the pages of `agl dashboard` on a filled store, in headless Chromium: first useful paint, filters,
 * long tasks while scrolling, heap.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { type Browser, chromium, type Page } from 'playwright-core';
import { parseFlags } from '../flags.ts';
import { type BenchmarkResult, progress, report, result } from '../report.ts';
import { median, quantile } from '../statistics.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type FillSize, filledRunId, fillStore } from './fill.ts';
import { heapResults } from './heap.ts';
import { longestTaskWhileScrolling } from './scrolling.ts';
import { tokenResults } from './tokens.ts';
import { writeReport } from './write-report.ts';

const flags = parseFlags({ full: false, rounds: 5, keep: '', report: '' });
const size: FillSize = flags.full
  ? { rollouts: 100_000, spansPerRollout: 10 }
  : { rollouts: 5000, spansPerRollout: 10 };

/** Pages by name, with a text that appears with their data. */
const pages: readonly (readonly [name: string, path: string, text: RegExp])[] = [
  ['runs', '/', /benchmark/],
  ['run', `/runs/${filledRunId}`, /All metrics/],
  ['tasks', `/runs/${filledRunId}/tasks`, /Rows are tasks/],
  ['rollouts', '/rollouts', /[\d,]+ rollouts/],
];

/** Filters of the list of rollouts, as query strings; others in every round, because the page caches what it has read. */
function filtersOf(round: number): readonly string[] {
  return [
    `task=${round}`,
    `step=${round + 1}`,
    `step=${round + 1}&task=17`,
    `task=${round}&status=failed`,
    `step=${round + 1}&mode=val`,
    `id=ro-0${round}`,
    `task=${round}&sort=oldest`,
    `run=${filledRunId}&task=${round}`,
    `run=${filledRunId}&step=${round + 1}&status=failed,cancelled`,
    ['status=failed', 'mode=val', 'sort=oldest', 'status=succeeded', 'mode=train'][round % 5] ?? '',
  ];
}

using folder = temporaryFolder();
const file = flags.keep === '' ? path.join(folder.path, 'agl.db') : path.resolve(flags.keep);
if (!existsSync(file)) {
  progress(`fill a store with ${size.rollouts} rollouts and ${size.rollouts * size.spansPerRollout} spans`);
  await fillStore(file, size);
}
const agl = path.resolve(import.meta.dirname, '../../apps/trainer/dist/cli/main.js');
const server = spawn(process.execPath, [agl, 'dashboard', '--store', `sqlite:${file}`, '--port', '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [ready] = await once(createInterface({ input: server.stdout }), 'line');
const { url } = JSON.parse(String(ready)) as { readonly url: string };
const browser = await chromium.launch({
  executablePath: process.env['AGL_CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--js-flags=--expose-gc'],
});
try {
  const results = [
    ...(await paintResults(browser)),
    ...(await listResults(browser)),
    ...(await tokenResults(browser, url)),
    ...(await heapResults(browser, { url, minutes: flags.full ? 10 : 0.5 })),
  ];
  report('dashboard', results);
  const place =
    flags.report === ''
      ? path.resolve(import.meta.dirname, '../../docs/reports/performance/dashboard.md')
      : flags.report;
  if (flags.full || flags.report !== '') writeReport(place, results, size);
} finally {
  await browser.close();
  server.kill();
  await once(server, 'exit');
}

/** The time from navigation until the data of each page is visible: the first time, and the median of all others. */
async function paintResults(open: Browser): Promise<readonly BenchmarkResult[]> {
  const results: BenchmarkResult[] = [];
  for (const [name, address, text] of pages) {
    progress(`open ${name}`);
    const times: number[] = [];
    for (let round = 0; round <= flags.rounds; round += 1) {
      const page = await (await open.newContext()).newPage();
      const start = performance.now();
      await page.goto(url + address, { waitUntil: 'commit' });
      await page.getByText(text).first().waitFor();
      times.push(performance.now() - start);
      await page.context().close();
    }
    const [first = Number.NaN, ...later] = times;
    results.push(result(`${name}: first useful paint, cold`, { value: first, unit: 'ms' }, { atMost: 1000 }));
    results.push(result(`${name}: first useful paint, median`, { value: median(later), unit: 'ms' }, { atMost: 1000 }));
  }
  return results;
}

async function listResults(open: Browser): Promise<readonly BenchmarkResult[]> {
  const page = await (await open.newContext({ viewport: { width: 1400, height: 900 } })).newPage();
  await page.goto(`${url}/rollouts`);
  await page
    .getByText(/[\d,]+ rollouts/)
    .first()
    .waitFor();
  progress('filter');
  const times: number[] = [];
  for (let round = 0; round < flags.rounds; round += 1) {
    for (const filter of filtersOf(round)) times.push(await filterMs(page, filter));
  }
  progress('scroll');
  await page.goto(`${url}/rollouts`);
  await page.locator('table.rollouts tbody tr').nth(10).waitFor();
  const longest = await longestTaskWhileScrolling(page);
  await page.context().close();
  return [
    result('filter, p50', { value: median(times), unit: 'ms' }, null),
    result('filter, p95', { value: quantile(times, 0.95), unit: 'ms' }, { atMost: 200 }),
    result('longest task while scrolling', { value: longest, unit: 'ms' }, { atMost: 50 }),
  ];
}

/** The time from a changed filter in the URL until the response is drawn. */
async function filterMs(page: Page, filter: string): Promise<number> {
  const drawn = page.evaluate(`new Promise((resolve) => {
    const start = performance.now();
    const { fetch } = window;
    window.fetch = async (...request) => {
      const response = await fetch(...request);
      if (!String(request[0]).includes('/api/rollouts')) return response;
      window.fetch = fetch;
      const json = response.json.bind(response);
      response.json = async () => {
        const data = await json();
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
        return data;
      };
      return response;
    };
    history.pushState(null, '', '/rollouts?' + ${JSON.stringify(filter)});
  })`);
  return Number(await drawn);
}
