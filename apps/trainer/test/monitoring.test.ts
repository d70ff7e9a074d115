import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { operationalMetrics } from '@agentlightning/core/metrics';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { AglProcess } from './agl-process.ts';
import { RunFolder, smallConfigFile } from './run-folder.ts';

/** It starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

const monitoring = path.resolve(import.meta.dirname, '../deploy/monitoring');

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
});
afterEach(() => folder[Symbol.dispose]());

const rules = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string() })) })),
});
const dashboard = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
});

/** The metrics that a file of expressions names: series of histograms by the name of the histogram. */
function namedMetrics(expressions: readonly string[]): readonly string[] {
  const names = expressions.flatMap((expr) => expr.match(/\b(agl|process)_[a-z_]+/g) ?? []);
  return [...new Set(names.map((name) => name.replace(/_(bucket|sum|count)$/, '')))].sort();
}

/** The metrics of a scrape by name. */
async function scrape(url: string, key: string): Promise<readonly string[]> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  expect(response.status).toBe(200);
  return [...(await response.text()).matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
}

test('alert rules and dashboard name only metrics that a server and a runner export', { tags: ['long'] }, async () => {
  await using server = new AglProcess(['server', '--data', folder.path, '--port', '0', '--model', 'tiny-random']);
  const { url, keyFile } = await server.event('ready');
  const key = readFileSync(String(keyFile), 'utf8').trim();
  await using runner = new AglProcess(
    ['runner', '--store', String(url), '--agent', smallConfigFile, '--metrics', '0.0.0.0:0'],
    { env: { AGL_STORE_KEY: key, AGL_METRICS_KEY: 'scrape-key', AGL_ALLOW_INSECURE_KEYS: '1' } },
  );
  await runner.event('ready');
  const [, port = ''] = /Metrics: http:\/\/0\.0\.0\.0:(\d+)\/metrics/.exec(runner.stderr) ?? [];
  const address = `http://127.0.0.1:${port}/metrics`;
  const exported = [...(await scrape(`${String(url)}/metrics`, key)), ...(await scrape(address, 'scrape-key'))];
  const { groups } = rules.parse(parse(readFileSync(path.join(monitoring, 'alerts.yaml'), 'utf8')));
  const { panels } = dashboard.parse(JSON.parse(readFileSync(path.join(monitoring, 'grafana-dashboard.json'), 'utf8')));
  const named = namedMetrics([
    ...groups.flatMap((group) => group.rules.map(({ expr }) => expr)),
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ]);
  expect(named.length).toBeGreaterThan(20);
  const catalogue: readonly string[] = Object.values(operationalMetrics).map(({ name }) => name);
  const own = exported.filter((name) => name.startsWith('agl_'));
  expect(own.filter((name) => !catalogue.includes(name))).toEqual([]);
  expect(catalogue.filter((name) => !own.includes(name))).toEqual([]);
  expect(named.filter((name) => !exported.includes(name))).toEqual([]);
  expect((await fetch(address)).status).toBe(401);
  expect((await fetch(`${String(url)}/metrics`)).status).toBe(401);
});

test('metrics for other machines need a key', async () => {
  await using runner = new AglProcess([
    'runner',
    '--store',
    'http://127.0.0.1:9',
    '--agent',
    smallConfigFile,
    '--metrics',
    '0.0.0.0:0',
  ]);
  expect(await runner.exitCode()).toBe(2);
  expect(runner.stderr).toContain('Set AGL_METRICS_KEY');
});

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

test.skipIf(!hasPromtool)('Prometheus accepts the alert rules and the configuration', () => {
  expect(readdirSync(monitoring)).toContain('alerts.yaml');
  const checked = spawnSync('promtool', ['check', 'rules', 'alerts.yaml'], { cwd: monitoring, encoding: 'utf8' });
  expect([checked.status, checked.stderr]).toEqual([0, '']);
});
