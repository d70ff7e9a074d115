import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { OtlpReceiver } from '@agentlightning/otel/testing';
import { freePort } from '../free-port.ts';
import { installRuntime } from '../matrix/installed-runtime.ts';
import { runCommand, startCommand } from '../verify/run-command.ts';
import { recipeFiles } from './recipe-files.ts';
import { type Recipe, runtimeOf } from './recipes.ts';

/** The time in which a server responds and its trace arrives, in milliseconds. */
const responseTimeoutMs = 120_000;

/** Invokes the bundle of the Lambda recipe, in a folder without packages. */
const lambdaServer = `
import { cpSync, mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
const folder = mkdtempSync(join(tmpdir(), 'lambda-'));
cpSync('dist/handler.mjs', join(folder, 'handler.mjs'));
const { handler } = await import(join(folder, 'handler.mjs'));
createServer(async (request, response) => {
  const body = Buffer.concat(await Array.fromAsync(request)).toString();
  const result = await handler({ body });
  response.writeHead(result.statusCode, { 'content-type': 'application/json' }).end(result.body);
}).listen(Number(process.env.PORT));
`;

/**
 * Runs a recipe in a new project.
 *
 * @param archives - the packed packages of Agent Lightning
 * @returns the problem; null without one
 */
export async function runRecipe(
  recipe: Recipe,
  { archives, home }: { readonly archives: readonly string[]; readonly home: string },
): Promise<string | null> {
  const folder = join(home, 'recipes', recipe.name);
  await rm(folder, { recursive: true, force: true });
  const files = new Map([
    ...recipeFiles(['README.md', recipe.page]),
    ['package.json', manifestText(recipe)],
    ['serve-handler.mjs', lambdaServer],
  ] as const);
  for (const [name, text] of files) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  const names = Object.entries(recipe.packages).map(([name, version]) => `${name}@${version}`);
  const install = [
    'npm',
    'install',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
    'openai@7.55.0',
    ...names,
    ...archives,
  ];
  for (const command of [install, ...recipe.build]) {
    const { isOk, output } = await runCommand(command, { cwd: folder, env: recipe.env ?? {} });
    if (!isOk) return `${command.slice(0, 6).join(' ')} failed:\n${output}`;
  }
  const runtime = runtimeOf(recipe);
  const program = runtime === null ? [] : await installRuntime(runtime, join(home, 'runtimes'));
  const start = [...program, ...recipe.start];
  if (recipe.isTest !== true) return await checkServer(start, { folder, env: recipe.env ?? {} });
  const { isOk, output } = await runCommand(start, { cwd: folder, env: { OPENAI_API_KEY: 'none', ...recipe.env } });
  return isOk ? null : output;
}

function manifestText({ type = 'module', workspaces }: Recipe): string {
  return JSON.stringify({ name: 'a-recipe', private: true, type, ...(workspaces === undefined ? {} : { workspaces }) });
}

/** Starts a server and sends one request: the response must be that of the model, and the trace must arrive. */
async function checkServer(
  start: readonly string[],
  { folder, env }: { readonly folder: string; readonly env: Readonly<Record<string, string>> },
): Promise<string | null> {
  await using model = await ScriptedModel.start([respondWith('A pear is 3.')]);
  await using receiver = await OtlpReceiver.start();
  const port = await freePort();
  const server = startCommand(start, {
    cwd: folder,
    env: {
      PORT: String(port),
      OPENAI_API_KEY: 'none',
      OPENAI_BASE_URL: model.baseUrl,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      TRACE_URL: receiver.url,
      TRACE_SAMPLE_RATE: '1',
      ...env,
    },
  });
  try {
    const body = await responseOf(`http://127.0.0.1:${port}/chat`);
    if (body !== '{"answer":"A pear is 3."}') return `Unexpected response: ${body}\n${server.output()}`;
    const missing = await missingSpans(receiver);
    return missing.length === 0 ? null : `Spans did not arrive: ${missing.join(', ')}\n${server.output()}`;
  } finally {
    await server.stop();
  }
}

/** Requests until the server listens. */
async function responseOf(url: string): Promise<string> {
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"question":"A pear?"}' };
  const deadline = performance.now() + responseTimeoutMs;
  for (;;) {
    try {
      const response = await fetch(url, request);
      return await response.text();
    } catch (error) {
      if (performance.now() > deadline) return String(error);
      await sleep(100);
    }
  }
}

const expectedSpans = ['invoke_agent clerk', 'execute_tool look_up_price', 'gpt-4.1-mini'];

async function missingSpans({ requests }: OtlpReceiver): Promise<readonly string[]> {
  const deadline = performance.now() + responseTimeoutMs;
  for (;;) {
    const received = requests.map(({ body }) => body.toString()).join('\n');
    const missing = expectedSpans.filter((text) => !received.includes(text));
    if (missing.length === 0 || performance.now() > deadline) return missing;
    await sleep(100);
  }
}
