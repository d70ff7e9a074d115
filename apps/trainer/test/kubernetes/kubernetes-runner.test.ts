import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { StoreClient } from '@agentlightning/core/store-client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { runAgl } from '../agl-command.ts';
import { AglProcess } from '../agl-process.ts';
import { RunFolder } from '../run-folder.ts';
import { TestApiServer } from './api-server.ts';
import { describeWithKubernetes } from './describe-with-kubernetes.ts';
import type { KubernetesObject } from './kubernetes-tools.ts';
import { jobTemplatesOf } from './pods.ts';

/** Each test starts a server, a controller and the processes of Jobs, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

const chart = path.resolve(import.meta.dirname, '../../deploy/helm/agentlightning');
const agentFile = path.resolve(import.meta.dirname, '../fixtures/batch-agent.ts');
const key = 'a key of the server, thirty-two bytes';

/** The key of the runners. */
const workerKey = 'the-key-of-the-runners';

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
});
afterEach(() => {
  folder[Symbol.dispose]();
  vi.unstubAllEnvs();
});

await describeWithKubernetes('agl kubernetes-runner', ({ helm, schemas }) => {
  /** The Job of the chart, for a server. */
  const writeTemplate = (url: string, agent: string = agentFile): string => {
    const values = ['runners.mode=jobs', `runners.serverUrl=${url}`, `runners.agentFile=${agent}`, 'runners.workers=1'];
    const flags = values.flatMap((value) => ['--set', value]);
    const { stdout, stderr } = spawnSync(helm, ['template', 'demo', chart, ...flags], { encoding: 'utf8' });
    const objects = parseAllDocuments(stdout).flatMap((document) => (document.toJS() as KubernetesObject | null) ?? []);
    const [template] = jobTemplatesOf(objects);
    expect(template, stderr).toBeDefined();
    const file = path.join(folder.path, 'job.yaml');
    writeFileSync(file, stringify(template));
    return file;
  };

  const startCluster = (): TestApiServer => new TestApiServer(schemas, { 'demo-keys/worker-key': workerKey });

  const startServer = (): AglProcess =>
    new AglProcess(['server', '--port', '0', '--data', path.join(folder.path, 'data')], {
      env: { AGL_SERVER_KEY: key, AGL_WORKER_KEY: workerKey },
    });

  const startController = async (cluster: TestApiServer, url: string, ...flags: string[]): Promise<AglProcess> => {
    const common = ['--store', url, '--namespace', 'training', '--interval', '0.2s', '--rollouts-per-job', '4'];
    const args = ['kubernetes-runner', ...common, '--idle', '5s', '--api', await cluster.url(), ...flags];
    return new AglProcess(args, { env: { AGL_STORE_KEY: key } });
  };

  const enqueue = async (url: string, count: number): Promise<StoreClient> => {
    const store = new StoreClient({ baseUrl: url, apiKey: key });
    await store.enqueueRollouts(Array.from({ length: count }, (_, input) => ({ input })));
    return store;
  };

  const countOf = async (
    store: StoreClient,
    ...statusIn: readonly ('queuing' | 'requeuing' | 'running' | 'succeeded')[]
  ) => (await store.queryRollouts({ statusIn, limit: 1 })).total;

  test('Jobs run the rollouts of the queue, and a stopped controller leaves them to its successor', {
    tags: ['long'],
  }, async () => {
    await using server = startServer();
    await using cluster = startCluster();
    const url = String((await server.event('ready'))['url']);
    const store = await enqueue(url, 10);
    vi.stubEnv('GATE', folder.gate);
    const template = writeTemplate(url);
    await using stopped = await startController(cluster, url, '--job-template', template, '--max-jobs', '1');
    await vi.waitFor(async () => expect(await countOf(store, 'running')).toBe(4), { timeout: 60_000 });
    expect(cluster.created).toEqual(['agl-runner-1']);
    stopped.terminate();
    expect(await stopped.exitCode(), stopped.stderr).toBe(0);
    expect(cluster.active()).toEqual([]);
    writeFileSync(folder.gate, '');
    await cluster.pod('agl-runner-1')?.exitCode();
    const left = await countOf(store, 'queuing', 'requeuing');
    await using successor = await startController(cluster, url, '--job-template', template, '--max-jobs', '2');
    await vi.waitFor(async () => expect(await countOf(store, 'succeeded')).toBe(10), { timeout: 120_000 });
    await vi.waitFor(() => expect(cluster.active()).toEqual([]), { timeout: 60_000 });
    expect(new Set(Object.values(cluster.ended()))).toEqual(new Set(['Complete']));
    expect(cluster.mostActive).toBeLessThanOrEqual(2);
    expect(Object.keys(cluster.ended())).toHaveLength(Math.ceil(left / 4));
    successor.terminate();
    expect(await successor.exitCode()).toBe(0);
    await store.close();
  });

  test('after a Job that failed no further one is created, and the log says until when', async () => {
    await using server = startServer();
    await using cluster = startCluster();
    const url = String((await server.event('ready'))['url']);
    const store = await enqueue(url, 10);
    const template = writeTemplate(url, '/agent/absent.ts');
    await using controller = await startController(cluster, url, '--job-template', template, '--max-jobs', '1');
    await vi.waitFor(() => expect(cluster.ended()).toEqual({ 'agl-runner-1': 'Failed' }), { timeout: 60_000 });
    await vi.waitFor(() => expect(controller.stderr).toContain('Jobs have failed; no new ones until then'), {
      timeout: 5000,
    });
    expect(cluster.created).toEqual(['agl-runner-1']);
    expect(await countOf(store, 'queuing')).toBe(10);
    await store.close();
  });

  test('the rollouts of a pod that is killed are run by the next Job, after the backoff', {
    tags: ['long'],
  }, async () => {
    await using server = startServer();
    await using cluster = startCluster();
    const url = String((await server.event('ready'))['url']);
    const store = await enqueue(url, 4);
    vi.stubEnv('GATE', folder.gate);
    await using _controller = await startController(cluster, url, '--job-template', writeTemplate(url));
    await vi.waitFor(async () => expect(await countOf(store, 'running')).toBe(4), { timeout: 60_000 });
    await cluster.pod('agl-runner-1')?.kill();
    writeFileSync(folder.gate, '');
    await vi.waitFor(async () => expect(await countOf(store, 'succeeded')).toBe(4), { timeout: 120_000 });
    expect(cluster.ended()).toMatchObject({ 'agl-runner-1': 'Failed' });
    expect(cluster.created).toEqual(['agl-runner-1', 'agl-runner-2']);
    await store.close();
  });

  test('a namespace without rights, and an API that refuses the Job, end the controller with a message', async () => {
    await using server = startServer();
    await using cluster = startCluster();
    const url = String((await server.event('ready'))['url']);
    const store = await enqueue(url, 1);
    const template = writeTemplate(url);
    await using forbidden = await startController(cluster, url, '--job-template', template, '--namespace', 'other');
    expect(await forbidden.exitCode()).not.toBe(0);
    expect(forbidden.stderr).toContain('Allow the ServiceAccount to list, create and delete Jobs in the namespace.');
    const wrong = path.join(folder.path, 'wrong.yaml');
    writeFileSync(
      wrong,
      'apiVersion: batch/v1\nkind: Job\nspec: { template: { spec: { containers: [{ name: runner, imag: a }] } } }\n',
    );
    await using invalid = await startController(cluster, url, '--job-template', wrong);
    expect(await invalid.exitCode()).not.toBe(0);
    expect(invalid.stderr).toContain('Kubernetes API responded with 422');
    expect(invalid.stderr).toContain('imag');
    await store.close();
  });
});

test('wrong flags and templates are refused with a message', async () => {
  const write = (text: string): string => {
    const file = path.join(folder.path, 'job.yaml');
    writeFileSync(file, text);
    return file;
  };
  const run = async (...flags: string[]): Promise<string> => {
    const { code, stderr } = await runAgl(['kubernetes-runner', '--store', 'http://127.0.0.1:9', ...flags]);
    expect(code).toBe(2);
    return stderr;
  };
  const job = write(
    'apiVersion: batch/v1\nkind: Job\nspec: { template: { spec: { containers: [{ name: runner }] } } }\n',
  );
  expect(await run('--job-template', job)).toContain('Start `kubectl proxy`');
  expect(await run('--job-template', job, '--api', '8001')).toContain('--api is not a URL: "8001"');
  expect(await run('--job-template', job, '--name', 'Agl_1')).toContain('--name is not a name for Jobs: "Agl_1"');
  expect(await run('--job-template', '/nonexistent.yaml')).toContain('job template not readable: /nonexistent.yaml');
  expect(await run('--job-template', write('kind: [Job'))).toContain('Correct the YAML');
  expect(await run('--job-template', write('apiVersion: v1\nkind: Pod\n'))).toContain('kind');
  const other = 'apiVersion: batch/v1\nkind: Job\nspec: { template: { spec: { containers: [{ name: a }] } } }\n';
  expect(await run('--job-template', write(other))).toContain('must have a container with the name runner');
});
