import { expect, test } from 'vitest';
import { importOpenTelemetry } from './import-open-telemetry.ts';

const missing = Object.assign(new Error("Cannot find package '@agentlightning/otel'"), {
  code: 'ERR_MODULE_NOT_FOUND',
});

test('the package of OpenTelemetry is named where it is missing, with its command', async () => {
  const loading = importOpenTelemetry(() => Promise.reject(missing), '`agl export traces`');
  await expect(loading).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringContaining('`agl export traces` needs @agentlightning/otel, which is not installed'),
    remedy: expect.stringContaining('npm install @agentlightning/otel'),
  });
});

test('another error of the package is thrown unchanged', async () => {
  const broken = new Error('broken');
  await expect(importOpenTelemetry(() => Promise.reject(broken), 'It')).rejects.toBe(broken);
});
