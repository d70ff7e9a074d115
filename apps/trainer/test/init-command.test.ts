import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { TrainConfig } from '../src/config/train-config.ts';
import { adapters } from '../src/project-setup/adapters.ts';
import { instrumentSource } from '../src/project-setup/instrument-source.ts';
import { runAgl } from './agl-command.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-init-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
}

const read = (name: string): string => readFileSync(path.join(folder, name), 'utf8');
const installed = (name: string, version: string): Readonly<Record<string, string>> => ({
  [`node_modules/${name}/package.json`]: JSON.stringify({ name, version }),
});
const dependsOn = (...names: readonly string[]): Readonly<Record<string, string>> => ({
  'package.json': JSON.stringify({ dependencies: Object.fromEntries(names.map((name) => [name, '*'])) }),
});
const init = async (...flags: readonly string[]) => await runAgl(['init', ...flags], { cwd: folder });

const agent = `import { generateText } from 'ai';\n\nexport async function support(question: string) {\n  return question;\n}\n`;

test('the supported versions are the peer dependencies of the adapters', () => {
  for (const { adapter, framework, range } of adapters) {
    const file = path.resolve(import.meta.dirname, '../../../packages', adapter.split('/')[1] ?? '', 'package.json');
    const { peerDependencies } = JSON.parse(readFileSync(file, 'utf8')) as { peerDependencies: Record<string, string> };
    expect(peerDependencies[framework]).toBe(range);
  }
});

test('a project gets the line of its adapter and a configuration; a second run changes nothing', async () => {
  write({ ...dependsOn('ai'), ...installed('ai', '7.0.173'), 'src/support.ts': agent, 'yarn.lock': '' });
  const { code, output } = await init('--yes');
  expect(code).toBe(0);
  expect(output).toMatch(/^Found ai 7\.0\.173: @agentlightning\/ai-sdk\n/);
  expect(output).not.toContain('====');
  expect(output).toContain("+import '@agentlightning/ai-sdk/register';");
  expect(output).toContain('yarn add @agentlightning/trainer @agentlightning/ai-sdk');
  expect(read('src/support.ts')).toBe(`import '@agentlightning/ai-sdk/register';\n${agent}`);
  expect(read('agl.config.ts')).toContain("const { support } = await import('./src/support.ts');");
  expect(output).toContain('+++ .gitignore');
  expect(read('.gitignore')).toBe('.agl/\n');

  const again = await init('--yes');
  expect(again.output).toContain('The project is set up.');
  expect(read('src/support.ts').split('\n')).toHaveLength(agent.split('\n').length + 1);
});

test('without confirmation the diff is shown and nothing is written', async () => {
  write({ ...dependsOn('ai'), ...installed('ai', '6.0.326'), 'agent.ts': agent });
  const { code, output } = await init();
  expect(code).toBe(0);
  expect(output).toContain('+++ agl.config.ts');
  expect(output).toContain('Nothing was written. Repeat with --yes');
  expect(read('agent.ts')).toBe(agent);
  expect(existsSync(path.join(folder, 'agl.config.ts'))).toBe(false);
  const { output: json } = await init('--json');
  expect(JSON.parse(json)).toMatchObject({ framework: 'ai', version: '6.0.326', written: false });
});

const graphModule = `import { StateGraph } from '@langchain/langgraph';

export const State = {};
export function route(state: { done: boolean }) {
  return state.done;
}
const builder = new StateGraph(State)
  .addNode('reply', async () => ({}));

export const graph = builder.compile();
`;

test.each([
  ['pickCarrier', 'await pickCarrier(task.input);', `${graphModule}export async function pickCarrier() {}\n`],
  ['graph', "await graph.invoke({ messages: [{ role: 'user', content: task.input }] });", graphModule],
  [
    'default',
    'await runAgent.invoke(',
    `${graphModule}\nexport default graph;\n`.replace('export const graph', 'const graph'),
  ],
  [
    'run',
    'await run(task.input);',
    `${graphModule}const go: (x: string) => Promise<string> = async (x) => x;\nexport { go as run };\n`,
  ],
])('of several exports %s is called, and the others are listed', async (name, call, source) => {
  write({ ...dependsOn('@langchain/core'), 'agent.ts': source });
  const { output } = await init('--yes');
  expect(output).toMatch(new RegExp(`Chosen ${name} of agent\\.ts, which also exports State, route`));
  expect(read('agl.config.ts')).toContain(call);
  const { output: json } = await init('--json');
  expect(JSON.parse(json)).toMatchObject({ calls: null, other_exports: [] });
});

test('the generated tasks and settings let the tiny model learn', async () => {
  write({ ...dependsOn('ai'), 'agent.ts': agent });
  await init('--yes');
  const url = pathToFileURL(path.join(folder, 'agl.config.ts')).href;
  const source = read('agl.config.ts').replace(/^import .*\n/, 'const defineConfig = (config: object) => config;\n');
  writeFileSync(path.join(folder, 'agl.config.ts'), source);
  writeFileSync(path.join(folder, 'agent.ts'), 'export const support = (question: string) => question;\n');
  const { default: config }: { default: TrainConfig } = await import(url);
  expect(config.algorithm).toEqual({ type: 'grpo', groupSize: 8, learningRate: 2e-3 });
  expect(config.tasks.train).toHaveLength(8);
  expect(config.tasks.test).toHaveLength(8);
  expect(config.tasks.test).not.toEqual(config.tasks.train);
});

const typeChecked: readonly (readonly [
  name: string,
  packageType: string,
  compilerOptions: object,
  specifier: string,
])[] = [
  ['ES modules of Node', 'module', { module: 'nodenext' }, './src/agent.js'],
  ['CommonJS of Node', 'commonjs', { module: 'nodenext' }, './src/agent.js'],
  ['a bundler', 'commonjs', { module: 'esnext', moduleResolution: 'bundler', target: 'es2022' }, './src/agent'],
  ['extensions of TypeScript', 'module', { module: 'nodenext', allowImportingTsExtensions: true }, './src/agent.ts'],
];

test.each(typeChecked)(
  'the configuration passes the type check of a project with %s',
  async (_, type, options, specifier) => {
    const compilerOptions = { ...options, strict: true, noEmit: true, skipLibCheck: true, types: [] };
    write({
      'package.json': JSON.stringify({ type, dependencies: { ai: '*' } }),
      'tsconfig.json': JSON.stringify({ compilerOptions, include: ['**/*.ts'] }),
      'node_modules/ai/index.d.ts': 'export function generateText(): Promise<string>;',
      'node_modules/ai/package.json': '{ "name": "ai", "version": "7.0.173", "types": "index.d.ts" }',
      'node_modules/@agentlightning/trainer/index.d.ts': 'export function defineConfig(config: unknown): object;',
      'node_modules/@agentlightning/trainer/package.json':
        '{ "name": "@agentlightning/trainer", "types": "index.d.ts" }',
      'node_modules/@agentlightning/ai-sdk/register.d.ts': 'export {};',
      'node_modules/@agentlightning/ai-sdk/package.json':
        '{ "exports": { "./register": { "types": "./register.d.ts" } } }',
      'globals.d.ts': 'declare const process: { env: Record<string, string | undefined> };',
      'src/agent.ts': agent,
    });
    await init('--yes');
    expect(read('agl.config.ts')).toContain(`import('${specifier}')`);
    const tsc = path.resolve(import.meta.dirname, '../../../node_modules/.bin/tsc');
    const { stdout, status } = spawnSync(tsc, ['-p', folder], { encoding: 'utf8' });
    expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
  },
);

/** A compiler that prints these errors for imports with a pattern; TypeScript does so for settings that are not read. */
const compilerThatRejects = (pattern: string, code: string): string =>
  `const config = require('node:fs').readFileSync('agl.config.ts', 'utf8');
   console.log("src/other.ts(1,1): error TS2322: Another file is wrong.");
   console.log("agl.config.ts(1,1): error TS2307: Cannot find module '@agentlightning/trainer' or its type declarations.");
   if (/${pattern}/.test(config)) console.log('agl.config.ts(6,20): error ${code}: It is wrong.');`;

test.each([
  ['agent\\.ts', 'TS5097', "import('./agent.js')", []],
  ['= await import', 'TS1309', "export default import('./agent.ts').then(({ support }) =>", []],
  ['agent', 'TS9999', "await import('./agent.ts')", [{ code: 'TS9999', line: 6, message: 'It is wrong.' }]],
])('errors of the type check are corrected or reported: %s, %s', async (pattern, code, expected, remaining) => {
  write({
    ...dependsOn('ai'),
    'agent.ts': agent,
    'tsconfig.json':
      '{ "compilerOptions": { "module": "nodenext", "allowImportingTsExtensions": true }, "include": ["src"] }',
    'package.json': JSON.stringify({ type: 'module', dependencies: { ai: '*' } }),
    'node_modules/typescript/bin/tsc': compilerThatRejects(pattern, code),
  });
  const { output } = await init('--yes', '--json');
  expect(JSON.parse(output)).toMatchObject({ written: true, type_errors: remaining });
  expect(read('agl.config.ts')).toContain(expected);
});

test('the configuration of a project without top-level await awaits its import', async () => {
  write({ ...dependsOn('ai'), 'tsconfig.json': '{ "compilerOptions": { "module": "commonjs" } }', 'agent.ts': agent });
  await init('--yes');
  expect(read('agl.config.ts')).toContain("export default import('./agent').then(({ support }) =>\n  defineConfig({");
});

test.each([
  ['module.exports = { answer };', 'answer'],
  ['exports.answer = answer;', 'answer'],
  ['module.exports.answer = async (text) => text;', 'answer'],
  ['module.exports = answer;', 'default'],
])('the exports of CommonJS are understood: %s', async (line, name) => {
  const source = `const OpenAI = require('openai');\nasync function answer(text) { return text; }\n${line}\n`;
  write({ ...dependsOn('openai'), 'agent.js': source });
  await init('--yes');
  const imported = name === 'default' ? '{ default: runAgent }' : `{ ${name} }`;
  expect(read('agl.config.ts')).toContain(`const ${imported} = await import('./agent.js')`);
});

test('a configuration that exists is kept, and .gitignore is extended once', async () => {
  write({ ...dependsOn('ai'), ...installed('ai', '7.0.173'), 'agent.ts': agent, 'agl.config.ts': 'mine' });
  write({ '.gitignore': 'node_modules' });
  await init('--yes');
  await init('--yes');
  expect(read('.gitignore')).toBe('node_modules\n.agl/\n');
  expect(read('agl.config.ts')).toBe('mine');
});

test.each([
  ['has no supported framework', dependsOn('express'), /no supported framework in/],
  [
    'has an old framework',
    { ...dependsOn('ai'), ...installed('ai', '5.0.0'), 'agent.ts': agent },
    /ai 5\.0\.0 is not supported/,
  ],
  ['does not import its framework', { ...dependsOn('ai'), 'agent.ts': 'export {}' }, /no source file imports ai/],
  ['has several agents', { ...dependsOn('ai'), 'a.ts': agent, 'b.ts': agent }, /several files import ai: a\.ts, b\.ts/],
  ['has no package.json', {}, /no valid package\.json/],
] as const)('a project that %s is left unchanged', async (_title, files, message) => {
  write(files);
  const { code, stderr } = await init('--yes');
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
  expect(existsSync(path.join(folder, 'agl.config.ts'))).toBe(false);
});

test('one of several agents is chosen with --agent', async () => {
  write({ ...dependsOn('ai'), 'a.ts': agent, 'b.ts': agent });
  expect((await init('--yes', '--agent', './b.ts')).code).toBe(0);
  expect(read('a.ts')).toBe(agent);
  expect(read('b.ts')).toContain('register');
});

test.each([
  [
    'after a shebang, comments and directives',
    "#!/usr/bin/env node\n// An agent.\n'use strict';\nimport { run } from '@openai/agents';\n",
    '@agentlightning/openai-agents',
    "#!/usr/bin/env node\n// An agent.\n'use strict';\nimport '@agentlightning/openai-agents/register';\nimport { run } from '@openai/agents';\n",
  ],
  [
    'in CommonJS',
    "const { ChatOpenAI } = require('@langchain/openai');\n",
    '@agentlightning/langchain',
    "require('@agentlightning/langchain/register');\nconst { ChatOpenAI } = require('@langchain/openai');\n",
  ],
  [
    'with the class of the OpenAI client',
    "import Client from 'openai';\nimport { z } from 'zod';\nconst client = new Client();\n",
    '@agentlightning/fetch',
    "import { instrumentOpenAI } from '@agentlightning/fetch';\nimport Client from 'openai';\nimport { z } from 'zod';\n\ninstrumentOpenAI(Client);\n\nconst client = new Client();\n",
  ],
  [
    'with the class Agent of Mastra',
    "import { Agent as MastraAgent } from '@mastra/core/agent';\nconst agent = new MastraAgent(options);\n",
    '@agentlightning/mastra',
    "import { instrumentMastra } from '@agentlightning/mastra';\nimport { Agent as MastraAgent } from '@mastra/core/agent';\n\ninstrumentMastra(MastraAgent);\n\nconst agent = new MastraAgent(options);\n",
  ],
  [
    'around query of the Claude Agent SDK',
    "import { query, tool } from '@anthropic-ai/claude-agent-sdk';\nquery({ prompt: 'Hi' });\n",
    '@agentlightning/claude-agent-sdk',
    "import { traceQuery } from '@agentlightning/claude-agent-sdk';\nimport { query as untracedQuery, tool } from '@anthropic-ai/claude-agent-sdk';\n\nconst query = traceQuery(untracedQuery);\n\nquery({ prompt: 'Hi' });\n",
  ],
])('the line is added %s', (...[, before, adapter, after]) => {
  expect(instrumentSource(before, adapter)).toBe(after);
  expect(instrumentSource(after, adapter)).toBe(after);
});
