import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { ManualClock } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EndedCommand, runAgl } from './agl-command.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'agl-metrics-'));
const storeUrl = `sqlite:${path.join(folder, 'agl.db')}`;
const runId = 'run-metrics';

beforeAll(async () => {
  const store = await openStore(storeUrl, { clock: new ManualClock(1_700_000_000_000) });
  const config = { algorithm: { type: 'grpo', groupSize: 4 }, seeds: [1, 2] };
  await store.createRun({ runId, name: 'seed 1', config });
  for (const step of [1, 2, 3]) {
    const values = { 'reward/mean': step / 4, 'policy/kl': step === 2 ? Number.NaN : 0.25 };
    const finite = Object.fromEntries(Object.entries(values).filter(([, value]) => Number.isFinite(value)));
    const point = { runId, step, timeMs: 1_700_000_000_000 + 1000 * step, values: finite };
    await store.updateRun(runId, { status: step === 3 ? 'finished' : 'running' }, [point]);
  }
  await store.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function exportMetrics(...flags: string[]): Promise<EndedCommand> {
  return runAgl(['export', 'metrics', runId, '--store', storeUrl, ...flags], { cwd: folder });
}

/** The records of a TFRecord file. */
function records(bytes: Buffer): readonly Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = Number(bytes.readBigUInt64LE(at));
    found.push(bytes.subarray(at + 12, at + 12 + length));
    at += 16 + length;
  }
  return found;
}

/** The step of an event. */
function stepOf(event: Buffer): number {
  const reader = new BinaryReader(event);
  let step = 0;
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 2) step = Number(reader.int64());
    else reader.skip(type);
  }
  return step;
}

test('TensorBoard gets an event for each step, and the configuration as text', async () => {
  const { code, stderr } = await exportMetrics('--to', 'tensorboard', '--out', 'tb', '--follow');
  expect([code, stderr]).toEqual([0, expect.stringContaining('Wrote the metrics of 3 steps of run-metrics to ')]);
  const directory = path.join(folder, 'tb', runId);
  const [file = ''] = readdirSync(directory);
  const events = records(readFileSync(path.join(directory, file)));
  expect(events.map(stepOf)).toEqual([0, 0, 1, 2, 3]);
  expect(events[0]?.includes('brain.Event:2')).toBe(true);
  expect(events[1]?.includes('| algorithm.type | grpo |')).toBe(true);
  expect(events[2]?.includes('reward/mean')).toBe(true);
  // Every event file of TensorFlow begins with these bytes: a length of 24, and its checksum.
  const bytes = readFileSync(path.join(directory, file));
  expect(bytes.subarray(0, 12).toString('hex')).toBe('1800000000000000a37f4b22');
});

/** The records of a `.wandb` file: the parts of a LevelDB log, joined. */
function wandbRecords(bytes: Buffer): readonly Buffer[] {
  expect(bytes.subarray(0, 7).toString('hex')).toBe('3a572642e1be00');
  const found: Buffer[] = [];
  let parts: Buffer[] = [];
  for (let at = 7; at < bytes.length; ) {
    const left = 32_768 - (at % 32_768);
    if (left < 7) {
      at += left;
      continue;
    }
    const [length, kind] = [bytes.readUInt16LE(at + 4), bytes.readUInt8(at + 6)];
    const part = bytes.subarray(at + 7, at + 7 + length);
    expect(bytes.readUInt32LE(at)).toBe(crc32(part, crc32(Uint8Array.of(kind))));
    parts.push(part);
    at += 7 + length;
    if (kind === 2 || kind === 3) continue;
    found.push(Buffer.concat(parts));
    parts = [];
  }
  return found;
}

const wandbFile = path.join('wandb', `offline-run-20231114_221320-${runId}`, `run-${runId}.wandb`);

async function exportWandb(...flags: string[]): Promise<string> {
  const { code, stderr } = await exportMetrics('--to', 'wandb', '--experiment', 'stock', ...flags);
  expect([code, stderr]).toEqual([0, expect.stringContaining('Wrote the metrics of 3 steps of run-metrics to ')]);
  return path.join(folder, wandbFile);
}

test('Weights & Biases gets an offline run with configuration, steps and exit', async () => {
  const all = wandbRecords(readFileSync(await exportWandb()));
  // Header, run, three steps, exit.
  expect(all).toHaveLength(6);
  for (const text of ['run-metrics', 'stock', 'seed 1', 'algorithm', '{"type":"grpo","groupSize":4}']) {
    expect(all[1]?.includes(text)).toBe(true);
  }
  for (const text of ['reward/mean', '0.75', '_step', '_timestamp', '1700000003']) {
    expect(all[4]?.includes(text)).toBe(true);
  }
});

/** A version of the SDK that has the reader in Python; later ones read the same format in a binary. */
const readerPackage = 'wandb==0.23.1';

/** The reader of Weights & Biases itself. */
const readWandb = `
import json, sys
import wandb
wandb._assert_is_internal_process = True
from wandb.proto import wandb_internal_pb2 as pb
from wandb.sdk.internal import datastore
store = datastore.DataStore()
store.open_for_scan(sys.argv[1])
run, history, exits = {}, [], []
while (data := store.scan_data()) is not None:
    record = pb.Record()
    record.ParseFromString(data)
    kind = record.WhichOneof("record_type")
    items = lambda all: {item.key: json.loads(item.value_json) for item in all}
    if kind == "run":
        run = dict(id=record.run.run_id, project=record.run.project, name=record.run.display_name,
            start=record.run.start_time.seconds, config=items(record.run.config.update))
    elif kind == "history":
        history.append(dict(items(record.history.item), step=record.history.step.num))
    elif kind == "exit":
        exits.append(record.exit.exit_code)
print(json.dumps(dict(run=run, history=history, exits=exits)))
`;

test('the SDK of Weights & Biases reads the offline run', { tags: ['long'], timeout: 300_000 }, async ({ skip }) => {
  const environment = path.join(folder, 'python');
  const python = path.join(environment, 'bin', 'python');
  try {
    execFileSync('python3', ['-m', 'venv', environment], { stdio: 'ignore' });
    execFileSync(python, ['-m', 'pip', 'install', '--quiet', readerPackage], { stdio: 'ignore' });
  } catch {
    skip('Python with venv, or the package wandb, is not available');
  }
  const read: unknown = JSON.parse(execFileSync(python, ['-c', readWandb, await exportWandb()], { encoding: 'utf8' }));
  expect(read).toEqual({
    run: {
      id: runId,
      project: 'stock',
      name: 'seed 1',
      start: 1_700_000_000,
      config: { algorithm: { type: 'grpo', groupSize: 4 }, seeds: [1, 2] },
    },
    history: [1, 2, 3].map((step) => ({
      step,
      'reward/mean': step / 4,
      ...(step === 2 ? {} : { 'policy/kl': 0.25 }),
      _step: step,
      _timestamp: 1_700_000_000 + step,
      _runtime: step,
    })),
    exits: [0],
  });
});

test('steps of a running run are followed to its end', async () => {
  const live = 'run-live';
  const store = await openStore(storeUrl);
  await store.createRun({ runId: live, name: 'live', config: {} });
  const point = (step: number) => ({ runId: live, step, timeMs: 1_700_000_000_000, values: { loss: step } });
  await store.updateRun(live, { status: 'running' }, [point(1)]);
  const directory = path.join(folder, 'live', live);
  const following = runAgl(
    ['export', 'metrics', live, '--store', storeUrl, '--to', 'tensorboard', '--out', 'live', '--follow'],
    { cwd: folder },
  );
  const steps = (): readonly number[] => {
    const [name = ''] = readdirSync(directory);
    return records(readFileSync(path.join(directory, name))).map(stepOf);
  };
  await expect.poll(() => (existsSync(directory) ? steps() : []), { timeout: 20_000 }).toEqual([0, 0, 1]);
  await store.updateRun(live, { status: 'finished' }, [point(2)]);
  expect((await following).stderr).toContain('Wrote the metrics of 2 steps of run-live');
  expect(steps()).toEqual([0, 0, 1, 2]);
  await store.close();
});

test('a table has a line for each step and a column for each metric', async () => {
  const { code, output } = await exportMetrics();
  expect([code, output]).toEqual([
    0,
    [
      'step,time,policy/kl,reward/mean',
      '1,2023-11-14T22:13:21.000Z,0.25,0.25',
      '2,2023-11-14T22:13:22.000Z,,0.5',
      '3,2023-11-14T22:13:23.000Z,0.25,0.75',
      '',
    ].join('\n'),
  ]);
});

test('OpenMetrics text has the times of the steps', async () => {
  const { output } = await exportMetrics('--to', 'openmetrics');
  expect(output).toContain('agl_run_metric{run="run-metrics",name="reward/mean"} 0.75 1700000003\n# EOF\n');
  expect(output.match(/# TYPE agl_run_metric gauge/g)).toHaveLength(1);
});

test('MLflow gets a run with parameters and metrics, and a rejection is shown', async () => {
  const received: { readonly path: string; readonly body: Record<string, unknown> }[] = [];
  let isLocked = false;
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const [place = ''] = (request.url ?? '').replace('/api/2.0/mlflow/', '').split('?');
      received.push({ path: place, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) });
      const isMissing = place === 'experiments/get-by-name';
      response.writeHead(isLocked ? 403 : isMissing ? 404 : 200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify(
          isLocked ? { error_code: 'PERMISSION_DENIED' } : { experiment_id: '7', run: { info: { run_id: 'r-1' } } },
        ),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const { code, stderr } = await exportMetrics('--to', 'mlflow', '--endpoint', endpoint);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`${endpoint}/#/experiments/7/runs/r-1`)]);
    expect(received.map((request) => request.path)).toEqual([
      'experiments/get-by-name',
      'experiments/create',
      'runs/create',
      'runs/log-batch',
      'runs/log-batch',
      'runs/update',
    ]);
    expect(received[3]?.body['params']).toContainEqual({ key: 'algorithm.type', value: 'grpo' });
    expect(received[4]?.body['metrics']).toContainEqual({
      key: 'reward/mean',
      value: 0.75,
      step: 3,
      timestamp: 1_700_000_003_000,
    });
    expect(received[5]?.body).toMatchObject({ run_id: 'r-1', status: 'FINISHED' });
    isLocked = true;
    const refused = await exportMetrics('--to', 'mlflow', '--endpoint', endpoint);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining('with status 403')]);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});

test('a wrong address is refused with what to do', async () => {
  const { code, stderr } = await exportMetrics('--to', 'mlflow', '--endpoint', 'sqlite:mlruns.db');
  expect([code, stderr]).toEqual([2, expect.stringContaining('invalid address of an MLflow tracking server')]);
});
