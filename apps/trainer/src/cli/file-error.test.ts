import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { expect, test } from 'vitest';
import { explainedFileError } from './file-error.ts';

const thrownBy = (work: Promise<unknown>): Promise<unknown> => work.then(() => null, explainedFileError);

test('an error of the file system has a remedy and no stack', async () => {
  expect(await thrownBy(writeFile(tmpdir(), ''))).toMatchObject({
    code: 'CONFIG',
    remedy: expect.stringMatching(/Name a file/),
  });
  const missing = path.join(tmpdir(), 'agl-no-such-folder', 'out.jsonl');
  expect(await thrownBy(writeFile(missing, ''))).toMatchObject({
    code: 'CONFIG',
    message: expect.stringContaining(missing),
    remedy: 'Check the path.',
  });
});

test('a full disk is not a configuration error', () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' });
  expect(explainedFileError(full)).toMatchObject({ code: 'STORE_FULL' });
});

test('known and unexpected errors are returned unchanged', async () => {
  const known = new AgentLightningError({ code: 'CONFIG', message: 'known' });
  const unforeseen = new TypeError('x is not a function');
  for (const error of [known, unforeseen, 'a text', null]) expect(explainedFileError(error)).toBe(error);
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });
  expect(explainedFileError(refused)).toBe(refused);
  expect(AgentLightningError.isInstance(await thrownBy(readFile('')))).toBe(true);
});
