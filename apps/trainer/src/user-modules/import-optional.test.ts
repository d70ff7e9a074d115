import { expect, test } from 'vitest';
import { importOptional } from './import-optional.ts';

const missing = Object.assign(new Error("Cannot find package '@agentlightning/otel'"), {
  code: 'ERR_MODULE_NOT_FOUND',
});

test('a package is named where it is missing, with its command', async () => {
  const loading = importOptional('@agentlightning/otel', '`agl export traces`', () => Promise.reject(missing));
  await expect(loading).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringContaining('`agl export traces` needs @agentlightning/otel, which is not installed'),
    remedy: expect.stringContaining('npm install @agentlightning/otel'),
  });
});

test('another error of the package is thrown unchanged', async () => {
  const broken = new Error('broken');
  await expect(importOptional('@agentlightning/otel', 'It', () => Promise.reject(broken))).rejects.toBe(broken);
});
