/**
 * `pnpm record`: records the exchanges of this client with the real servers, and the requests of
 * the official SDK in each dialect. Run it when a server or the SDK has a new version, or when a request of the client changed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { preparePython, pythonEnvironments } from '../../../../tools/python-environment.ts';
import { startRealServer } from '../../../../tools/tinker-servers/start-server.ts';
import { type Exchange, startRecorder } from './exchanges.ts';
import { runScenario } from './scenario.ts';

/** Stands for the folder of the tiny model. */
const modelName = '/models/tiny-qwen3';

const environment = await preparePython(pythonEnvironments['tinker servers']);
if ('missing' in environment) throw new Error(environment.missing);
const { python } = environment;
const folder = await mkdtemp(path.join(tmpdir(), 'tinker-captures-'));

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<void> {
  const child = spawn(python, args, { stdio: 'inherit', env: { ...process.env, HF_HUB_OFFLINE: '1', ...env } });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) process.stderr.write(`${args.join(' ')} ended with ${code}\n`);
}

async function write(name: string, content: unknown, model: string): Promise<void> {
  const text = `${JSON.stringify(content, null, 1)}\n`.replaceAll(model, modelName);
  await writeFile(path.join(import.meta.dirname, name), text);
}

/** The first request of each route. */
function requestsOf(exchanges: readonly Exchange[]): readonly Exchange['request'][] {
  const first = new Map<string, Exchange['request']>();
  for (const { request } of exchanges) {
    const isForward = JSON.stringify(request.body).includes('"forwardOnly":true');
    const key = isForward ? `${request.route} forward` : request.route;
    if (!first.has(key)) first.set(key, request);
  }
  return [...first.values()];
}

async function recordWith(target: string, act: (url: string) => Promise<unknown>): Promise<readonly Exchange[]> {
  const exchanges: Exchange[] = [];
  const recorder = await startRecorder(target, (exchange) => exchanges.push(exchange));
  await act(recorder.url);
  await recorder.close();
  return exchanges;
}

const sdks = { skyrl: ['0.25.0', '0.38.0'], hatchery: ['0.24.1'] } as const;
try {
  for (const kind of ['hatchery', 'skyrl'] as const) {
    const server = await startRealServer({ kind, python, folder });
    const { model, apiKey } = server;
    const exchanges = await recordWith(server.url, (url) =>
      runScenario({ url, apiKey, baseModel: model, isAveraging: true }),
    );
    await write(`${kind}.json`, exchanges, model);
    for (const version of sdks[kind]) {
      const packages = path.join(folder, version);
      await run(['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', packages, `tinker==${version}`]);
      const script = path.join(import.meta.dirname, 'sdk_requests.py');
      const requests = await recordWith(server.url, (url) => run([script, url, model], { PYTHONPATH: packages }));
      await write(`sdk-${version}.json`, requestsOf(requests), model);
    }
    await server.close();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
