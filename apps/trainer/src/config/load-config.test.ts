import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadAgent } from '../user-modules/load-agent.ts';
import { loadConfig } from './load-config.ts';

/** A configuration file with this runtime. */
function fileWith(runtime: object): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'agl-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'agl.config.mjs');
  const rest = 'agent: () => 0, tasks: { train: [{}], test: [{}] }';
  writeFileSync(file, `export default { ${rest}, runtime: ${JSON.stringify(runtime)} };\n`);
  return file;
}

test('a folder instead of a file is reported with the path of the file', async () => {
  const folder = path.dirname(fileWith({ type: 'embedded' }));
  await expect(loadConfig(folder)).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringMatching(/is a folder/),
    remedy: expect.stringContaining(path.join(folder, 'agl.config.ts')),
  });
});

test('an error in a module that the file imports is reported with its line', async () => {
  const file = fileWith({ type: 'embedded' });
  const imported = path.join(path.dirname(file), 'agent.ts');
  writeFileSync(imported, 'enum Mode { Strict }\n\nexport const mode: Mode = Mode.Missing.length;\n');
  writeFileSync(file, "import './agent.ts';\n");
  await expect(loadConfig(file)).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringContaining('cannot be loaded: Cannot read properties of undefined'),
    remedy: expect.stringMatching(/^Correct \S*agent\.ts:3:\d+\.$/),
  });
});

test('a missing import is reported without a line of agl', async () => {
  const file = fileWith({ type: 'embedded' });
  writeFileSync(file, "import './missing';\n");
  await expect(loadConfig(file)).rejects.toMatchObject({
    message: expect.stringContaining('Cannot find module'),
    remedy: expect.stringMatching(/^Correct (?:the file|\S*agl\.config\.mjs:1:1)\.$/),
  });
});

test('a runtime elsewhere trains the model that the file says, with the LoRA that the file says', async () => {
  const file = fileWith({ type: 'grpc', address: 'here:1', model: 'small', lora: { rank: 8 }, apiKey: 'own' });
  const config = await loadConfig(file, { runtime: { type: 'grpc', address: 'there:2', apiKey: undefined } });
  expect(config).toMatchObject({ runtime: { type: 'grpc', address: 'there:2', model: 'small', lora: { rank: 8 } } });
});

test('keys in the file go to its own runtime, and to no other', async () => {
  const file = fileWith({ type: 'grpc', address: 'here:1', apiKey: 'own', inferenceApiKey: 'sampling' });
  const same = await loadConfig(file, { runtime: { type: 'grpc', address: 'here:1', apiKey: undefined } });
  expect(same).toMatchObject({ runtime: { apiKey: 'own', inferenceApiKey: 'sampling' } });
  const other = await loadConfig(file, { runtime: { type: 'grpc', address: 'there:2', apiKey: 'theirs' } });
  expect(other).toMatchObject({ runtime: { apiKey: 'theirs' } });
  expect('runtime' in other && other.runtime).not.toHaveProperty('inferenceApiKey');
});

test('a runtime elsewhere takes the place of the embedded one', async () => {
  const config = await loadConfig(fileWith({ type: 'embedded', model: 'tiny-chat' }), {
    runtime: { type: 'grpc', address: 'there:2' },
  });
  expect(config).toMatchObject({ runtime: { type: 'grpc', address: 'there:2' } });
  expect('runtime' in config && config.runtime).not.toHaveProperty('model');
});

test('a configuration can be a promise, whose failing import is its error', async () => {
  const file = fileWith({ type: 'embedded' });
  const agent = path.join(path.dirname(file), 'agent.mjs');
  writeFileSync(agent, 'export const agent = () => 0;\n');
  const rest = 'tasks: { train: [{}], test: [{}] }';
  writeFileSync(file, `export default import('./agent.mjs').then(({ agent }) => ({ agent, ${rest} }));\n`);
  expect(await loadConfig(file)).toMatchObject({ agentFile: file });
  expect(await loadAgent(file)).toMatchObject({ agent: expect.any(Function), reward: undefined });

  const broken = path.join(path.dirname(file), 'broken.config.mjs');
  writeFileSync(
    path.join(path.dirname(file), 'broken.mjs'),
    "export const agent = 1;\nthrow new Error('no database');\n",
  );
  writeFileSync(broken, `export default import('./broken.mjs').then(({ agent }) => ({ agent, ${rest} }));\n`);
  await expect(loadConfig(broken)).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringContaining('cannot be loaded: no database'),
    remedy: expect.stringMatching(/^Correct \S*broken\.mjs:2:\d+\.$/),
  });
});
