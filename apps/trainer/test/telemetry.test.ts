import { OtlpReceiver } from '@agentlightning/otel/testing';
import { expect, test, vi } from 'vitest';
import { isRequested } from '../src/metrics/command-telemetry.ts';
import { AglProcess } from './agl-process.ts';

/** It starts a process, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 });

test('a server exports requests, metrics and logs where the OTEL variables send them', async () => {
  await using receiver = await OtlpReceiver.start();
  await using agl = new AglProcess(['store', '--db', ':memory:', '--port', '0'], {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=t1',
    },
  });
  const { url } = await agl.event('ready');
  const headers = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` };
  expect((await fetch(`${String(url)}/v1/agl/rollouts/ro-1?key=secret`, { headers })).status).toBe(404);
  expect((await fetch(`${String(url)}/v1/agl/runs`, { headers })).status).toBe(200);
  agl.terminate();
  expect(await agl.exitCode()).toBe(0);
  expect(receiver.requests.every((request) => request.headers['x-tenant'] === 't1')).toBe(true);
  const sent = (path: string): string =>
    receiver.requests.flatMap((request) => (request.path === path ? [request.body.toString()] : [])).join('\n');
  expect(sent('/v1/traces')).toContain('"name":"GET /v1/agl/runs"');
  expect(sent('/v1/traces')).toContain(`"traceId":"${'a'.repeat(32)}","spanId"`);
  expect(sent('/v1/traces')).toContain(`"parentSpanId":"${'b'.repeat(16)}"`);
  expect(sent('/v1/traces')).toContain('{"key":"service.name","value":{"stringValue":"agl-store"}}');
  expect(sent('/v1/traces')).not.toContain('secret');
  expect(sent('/v1/metrics')).toMatch(/"name":"agl_store_request_duration_seconds".*"explicitBounds":\[0.001/);
  expect(sent('/v1/metrics')).toContain('"name":"process_resident_memory_bytes"');
  expect(sent('/v1/logs')).toMatch(/"severityNumber":9.*"body":{"stringValue":"store is up"}/);
});

test('a collector that is down does not delay the end', { tags: ['long'] }, async () => {
  await using agl = new AglProcess(['store', '--db', ':memory:', '--port', '0'], {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' },
  });
  await agl.event('ready');
  const startMs = performance.now();
  agl.terminate();
  expect(await agl.exitCode()).toBe(0);
  expect(performance.now() - startMs).toBeLessThan(20_000);
});

test.each([
  [{}, false],
  [{ OTEL_SERVICE_NAME: 'x' }, false],
  [{ OTEL_TRACES_EXPORTER: 'none' }, false],
  [{ OTEL_TRACES_EXPORTER: 'otlp' }, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' }, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318', OTEL_SDK_DISABLED: 'TRUE' }, false],
])('telemetry is requested by %j: %s', (environment, expected) => {
  expect(isRequested(environment)).toBe(expected);
});
