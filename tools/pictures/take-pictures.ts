/**
 * `pnpm picture`: runs the quick start and takes the pictures of the documentation from it, in `docs/images`: the terminal, and the pages
 * of `agl dashboard`. What one run cannot show is of three more: a prompt search, a trial of an agent with several roles, and a second, shorter
 * training, whose workers are shown while it runs. Needs Chromium. `pnpm picture <folder>` keeps the runs in a folder, and takes pictures
 * of a quick start that is kept there.
 *
 * Look at the pictures, and write the figures of the run into their captions, before they are committed.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { type BrowserPages, type OpenPage, startBrowser } from '../../apps/dashboard/test/browser-pages.ts';

type Page = OpenPage['page'];

const root = path.resolve(import.meta.dirname, '../..');
const images = path.join(root, 'docs/images');
const folder = path.resolve(process.argv[2] ?? mkdtempSync(path.join(tmpdir(), 'agl-picture-')));
const transcript = path.join(folder, 'quickstart.txt');

/** A page of the dashboard: its path, a text that appears with its data, and whether the page is scrolled to that text. */
interface View {
  readonly name: string;
  readonly path: string;
  readonly text: string;
  readonly isScrolled?: true;
}

/** Runs a program with the store of the pictures, and returns its output. */
async function runProgram(file: string, ...args: readonly string[]): Promise<Buffer> {
  const command = [path.join(root, file), ...args, '--data-dir', path.join(folder, '.agl')];
  const child = spawn(process.execPath, command, { cwd: root, env: { ...process.env, FORCE_COLOR: '0' } });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      process.stderr.write(chunk);
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${[file, ...args].join(' ')} ended with ${code}`);
  return Buffer.concat(chunks);
}

const agl = 'apps/trainer/dist/cli/main.js';
const clerk = 'examples/stock-clerk/agl.config.ts';

/** Starts the dashboard in the folder of the run, and returns its address. */
async function openDashboard(): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const replay = ['--replay', path.join(root, clerk), '--data-dir', '.agl'];
  const child = spawn(process.execPath, [path.join(root, agl), 'dashboard', '--port', '0', ...replay], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface(child.stdout)) {
    return { child, url: z.object({ url: z.string() }).parse(JSON.parse(line)).url };
  }
  throw new Error('the dashboard did not start');
}

const rowSchema = z.object({ rolloutId: z.string(), step: z.number(), taskIndex: z.number(), groupId: z.string() });
const rollouts = z.object({ items: z.array(z.object({ rolloutId: z.string() })) });

/** The id of the quick start's run. */
function quickstartRun(): string {
  return /run-\w+/.exec(readFileSync(transcript, 'utf8'))?.[0] ?? '';
}

/** A right rollout of the middle of the training, of a group that has wrong ones too. */
async function findRollout(url: string, run: string): Promise<z.infer<typeof rowSchema>> {
  const rows = async (query: string): Promise<readonly z.infer<typeof rowSchema>[]> => {
    const found = await json(`${url}/api/rollouts?run=${run}&mode=train&limit=200&${query}`);
    return z.object({ items: z.array(rowSchema) }).parse(found).items;
  };
  for (let step = 8; step <= 20; step += 1) {
    const wrong = new Set((await rows(`step=${step}&maxReward=0`)).map(({ groupId }) => groupId));
    const right = (await rows(`step=${step}&minReward=1`)).find(({ groupId }) => wrong.has(groupId));
    if (right !== undefined) return right;
  }
  throw new Error('no group has right and wrong rollouts');
}

async function viewsOf(url: string): Promise<readonly View[]> {
  const run = quickstartRun();
  const { rolloutId, step, taskIndex } = await findRollout(url, run);
  const rollout = `/rollouts/${rolloutId}`;
  const views = (query: string): string => `${rollout}?view=${query}`;
  return [
    { name: 'run', path: `/runs/${run}`, text: 'Reward: training and held-out' },
    { name: 'tasks', path: `/runs/${run}/tasks`, text: 'Mean reward' },
    {
      name: 'group',
      path: `/runs/${run}/tasks?task=${taskIndex}&step=${step}`,
      text: `Task ${taskIndex}, step ${step}`,
      isScrolled: true,
    },
    { name: 'dataset', path: `/runs/${run}/dataset?from=rewards`, text: 'Data set' },
    { name: 'rollouts', path: `/rollouts?run=${run}&mode=test`, text: 'succeeded' },
    { name: 'messages', path: rollout, text: 'You are a stock clerk.' },
    { name: 'trace', path: views('trace'), text: ' steps' },
    { name: 'tokens', path: views('tokens&color=advantage'), text: 'made more likely', isScrolled: true },
    { name: 'raw', path: views('raw'), text: 'Copy as curl' },
  ];
}

async function takeDashboard(browser: BrowserPages): Promise<void> {
  const { child, url } = await openDashboard();
  try {
    const { page, problems } = await browser.open({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' });
    const views = await viewsOf(url);
    for (const view of views) await takeView(page, url, view);
    await takeOtherRuns(page, url);
    const narrow = await browser.open({ viewport: { width: 360, height: 740 }, colorScheme: 'dark' });
    const run = views.find(({ name }) => name === 'run');
    if (run !== undefined) await takeView(narrow.page, url, { ...run, name: 'narrow' });
    const all = [...problems, ...narrow.problems];
    if (all.length > 0) throw new Error(`the pages report ${all.join('; ')}`);
  } finally {
    child.kill();
  }
}

/** The pictures of a replay, of a second run and its workers, of a prompt search, and of an agent with several roles. */
async function takeOtherRuns(page: Page, url: string): Promise<void> {
  const run = quickstartRun();
  const { items: early } = rollouts.parse(
    await json(`${url}/api/rollouts?run=${run}&mode=train&step=2&maxReward=0&limit=1`),
  );
  await page.goto(`${url}/rollouts/${early[0]?.rolloutId}?view=replay`);
  await page.getByRole('button', { name: 'Replay' }).click();
  await page.getByText('Finish reason').waitFor();
  await takePicture(page, 'replay');

  const second = 'ten-steps';
  const training = runProgram(agl, 'train', clerk, '--run', second, '--steps', '10', '--seed', '2');
  await takeView(page, url, { name: 'workers', path: '/workers', text: 'Verified' });
  await training;
  const compared = `/compare?runs=${run},${second}`;
  await takeView(page, url, { name: 'compare', path: compared, text: 'Held-out before' });

  await runProgram(agl, 'train', 'examples/room-selector/agl.config.ts', '--run', 'room-selector');
  await takeView(page, url, { name: 'prompts', path: '/runs/room-selector/prompts', text: 'highest score' });

  await tryBankDesk();
  const { items } = rollouts.parse(await json(`${url}/api/rollouts?limit=1`));
  const graph = `/rollouts/${items[0]?.rolloutId}?view=trace&layout=graph`;
  await takeView(page, url, { name: 'agents', path: graph, text: 'hands over' });
  await takeView(page, url, { name: 'runs', path: '/', text: 'room-selector' });
}

/** One rollout of the bank desk with scripted replies: the help desk hands a lost card over to security. */
async function tryBankDesk(): Promise<void> {
  const [config, script] = [path.join(folder, 'bank-desk.config.ts'), path.join(folder, 'script.json')];
  const call = (name: string): object => ({ toolCalls: [{ name, arguments: { card: 'M3' } }] });
  writeFileSync(script, JSON.stringify([call('transfer_to_Security'), call('block_card')]));
  const task = { words: 'I lost M3.', balances: { M3: 58 }, answer: 'M3 is blocked.' };
  const lines = [
    `import config from '${path.join(root, 'examples/openai-agents-bank-desk/agl.config.ts')}';`,
    `const tasks = [${JSON.stringify(task)}];`,
    'export default { ...config, tasks: { ...config.tasks, train: tasks, test: tasks }, sampling: { maxTokens: 256 } };',
  ];
  writeFileSync(config, lines.join('\n'));
  await runProgram(agl, 'dev', config, '--tasks', '1', '--script', script);
}

async function json(url: string): Promise<unknown> {
  return await (await fetch(url)).json();
}

async function takeView(page: Page, url: string, view: View): Promise<void> {
  await page.goto(url + view.path);
  const shown = page.getByText(view.text).filter({ visible: true }).first();
  await shown.waitFor({ timeout: 300_000 });
  // Charts are drawn after their data has arrived.
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
  if (view.isScrolled) await shown.scrollIntoViewIfNeeded();
  await takePicture(page, view.name);
}

async function takePicture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: path.join(images, `dashboard-${name}.png`) });
}

/** The terminal: the command, and what it prints from the verdict to the held-out task before and after. */
async function takeTerminal(browser: BrowserPages): Promise<void> {
  const lines = readFileSync(transcript, 'utf8').split('\n');
  const [verdict, end] = [/^The agent /, /^The run is stored/].map((start) =>
    lines.findIndex((line) => start.test(line)),
  );
  const text = ['$ npx -y pnpm@12 quickstart', ...lines.slice(0, 2), '…', ...lines.slice(verdict, end)]
    .join('\n')
    .trimEnd();
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const { page } = await browser.open({ viewport: { width: 980, height: 400 } });
  await page.setContent(`<pre style="margin:0;padding:20px;background:#282d35;color:#d5dae2;white-space:pre-wrap;
    font:14px/1.4 'DejaVu Sans Mono',Menlo,Consolas,monospace">${escaped}</pre>`);
  await page.locator('pre').screenshot({ path: path.join(images, 'quickstart.png') });
}

mkdirSync(folder, { recursive: true });
const [store, kept] = [path.join(folder, '.agl'), path.join(folder, 'quickstart.agl')];
if (!existsSync(transcript)) {
  writeFileSync(transcript, await runProgram('tools/quickstart.ts'));
  cpSync(store, kept, { recursive: true });
}
// The other runs are made again.
rmSync(store, { recursive: true });
cpSync(kept, store, { recursive: true });
const browser = await startBrowser();
try {
  await takeTerminal(browser);
  await takeDashboard(browser);
} finally {
  await browser.close();
}
