import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installCommands, packageManagerOf } from '../src/install-packages.ts';
import { projectFiles } from '../src/project-files.ts';
import { projectPackages } from '../src/run-create.ts';

const main = path.resolve(import.meta.dirname, '../src/main.ts');

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'create-agentlightning-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function create(...args: readonly string[]): {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
} {
  const { npm_config_user_agent: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env,
  });
  return { code: status, out: stdout, err: stderr };
}

const frameworks = ['ai-sdk', 'openai-agents', 'langgraph', 'mastra', 'fetch'] as const;
const goals = ['rl', 'judge', 'prompt', 'sft'] as const;
const choices = frameworks.flatMap((framework) => goals.map((goal) => [framework, goal] as const));

test.each(choices)('a project on %s for %s is TypeScript whose imports are installed', (framework, goal) => {
  const choice = { name: 'my-agent', framework, goal };
  const files = projectFiles(choice);
  const { dependencies, devDependencies } = projectPackages(choice);
  const installed = [...dependencies, ...devDependencies].map((spec) => spec.replace(/(?<=.)@[^@]*$/, ''));
  const sources = Object.entries(files).filter(([name]) => name.endsWith('.ts'));
  expect(sources.map(([name]) => name)).toEqual([
    'agent.ts',
    'agl.config.ts',
    'agent.test.ts',
    ...(goal === 'judge' ? ['reward.ts'] : []),
  ]);
  for (const [, text] of sources) {
    expect(() => stripTypeScriptTypes(text)).not.toThrow();
    for (const [, name = ''] of text.matchAll(/ from '((?:@[^/']+\/)?[^/'.][^/']*)/g)) {
      if (!name.startsWith('node:')) expect(installed).toContain(name);
    }
  }
  for (const [name, text] of Object.entries(files).filter(([file]) => file.endsWith('.jsonl'))) {
    expect(
      text
        .trim()
        .split('\n')
        .map((line): unknown => JSON.parse(line)),
      name,
    ).not.toHaveLength(0);
    expect(files['agl.config.ts']).toContain(name);
  }
});

test('the files of a project are written, and the commands that install are printed', () => {
  const { code, out } = create('My Agent!', '--framework', 'ai-sdk', '--goal', 'sft', '--no-install');
  expect(code).toBe(0);
  const project = path.join(folder, 'My Agent!');
  expect(readdirSync(project)).toEqual(
    expect.arrayContaining(['agent.ts', 'agl.config.ts', 'AGENTS.md', 'README.md', 'tasks']),
  );
  const manifest: unknown = JSON.parse(readFileSync(path.join(project, 'package.json'), 'utf8'));
  expect(manifest).toMatchObject({ name: 'my-agent', private: true, scripts: { train: 'agl train' } });
  expect(out).toContain('npm install @agentlightning/trainer @agentlightning/ai-sdk');
});

test('without a terminal the defaults are taken', () => {
  expect(create('--no-install').code).toBe(0);
  expect(readFileSync(path.join(folder, 'my-agent/agent.ts'), 'utf8')).toContain('instrumentAISDK()');
  expect(create('--help').out).toContain('(default: ai-sdk)');
});

test('a project for prompts uses the API of the environment, and is tried and priced before it is paid for', () => {
  const { out } = create('a', '--framework', 'fetch', '--goal', 'prompt', '--no-install');
  expect(out).toMatch(/npm run try\n {2}npm run train/);
  const files = projectFiles({ name: 'a', framework: 'fetch', goal: 'prompt' });
  const config = files['agl.config.ts'] ?? '';
  expect(config).toContain("process.env['OPENAI_BASE_URL'] || 'https://api.openai.com/v1'");
  expect(config.match(/https:/g)).toHaveLength(1);
  expect(config).toContain('maxRollouts: 100, maxOptimizerCalls: 20');
  const models: Readonly<Record<string, { readonly input: number; readonly output: number }>> = JSON.parse(
    /prices: { models: (.*) } },/.exec(config)?.[1] ?? '',
  );
  const cents = Number(/Estimated cost .* at most (\d+) US cents/.exec(out)?.[1]);
  const parts = [...out.matchAll(/(\d+) calls of (\S+) with (\d+) input and (\d+) output tokens/g)];
  const tests = files['tasks/test.jsonl']?.trim().split('\n').length ?? 0;
  expect(parts.map(([, calls]) => Number(calls))).toEqual([(100 + 2 * tests) * 4, 20]);
  const amount = parts.reduce((sum, [, calls, model = '', input, output]) => {
    const price = models[model];
    return sum + (Number(calls) * (Number(input) * (price?.input ?? 0) + Number(output) * (price?.output ?? 0))) / 1e6;
  }, 0);
  expect(amount).toBeGreaterThan(0);
  expect(cents).toBe(Math.ceil(amount * 100));
  expect(out).toMatch(/list prices of \w+ 20\d\d/);
  expect(config).toMatch(/list prices of \w+ 20\d\d/);
});

test('tasks have varied answers that only the tool knows, and no held-out task is trained on', () => {
  const lines = (name: string): readonly string[] =>
    (projectFiles({ name: 'a', framework: 'fetch', goal: 'rl' })[name] ?? '').trim().split('\n');
  const [train, heldOut] = [lines('tasks/train.jsonl'), lines('tasks/test.jsonl')];
  expect(heldOut.filter((line) => train.includes(line))).toEqual([]);
  const tasks = [...train, ...heldOut].map((line): { question: string; answer: string } => JSON.parse(line));
  expect(new Set(tasks.map(({ answer }) => answer)).size).toBeGreaterThan(50);
  for (const { question, answer } of tasks) expect(question).not.toContain(answer);
  expect(train.filter((line) => /is [A-Z]\d now/.test(line))).toHaveLength(train.length / 2);
});

test('the scripted API of a project for prompts follows the rules that its optimiser adds one at a time', () => {
  const { 'try.js': script = '' } = projectFiles({ name: 'a', framework: 'fetch', goal: 'prompt' });
  const agent = `const ask = async (...messages) => {
    const response = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
      method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: process.env.OPENAI_MODEL, messages }),
    });
    return (await response.json()).choices[0].message;
  };
  const user = (content) => ({ role: 'user', content });
  const answer = async (system) => {
    const messages = [{ role: 'system', content: system }, user('How many B7 are in stock?')];
    for (const result of ['is R9 now', '81']) {
      const message = await ask(...messages);
      if (message.tool_calls === undefined) return message.content;
      messages.push(message, { role: 'tool', tool_call_id: message.tool_calls[0].id, content: result });
    }
    return (await ask(...messages)).content;
  };
  let prompt = 'You are a stock clerk.';
  const answers = [await answer(prompt)];
  for (const _ of [1, 2]) {
    prompt = /<prompt>(.*)<.prompt>/.exec((await ask(user(prompt + ' Reply between <prompt> and </prompt>.'))).content)[1];
    answers.push(await answer(prompt));
  }
  console.log(JSON.stringify(answers));
  process.exitCode = 3;`;
  writeFileSync(path.join(folder, 'agl.mjs'), agent);
  const core = pathToFileURL(path.resolve(import.meta.dirname, '../../core/src/testing/index.ts')).href;
  const run = script.replace('@agentlightning/core/testing', core).replace("'agl train'", "'node agl.mjs'");
  writeFileSync(path.join(folder, 'try.mjs'), run);
  const { status, stdout } = spawnSync(process.execPath, ['try.mjs'], { cwd: folder, encoding: 'utf8' });
  expect(stdout).toContain('["There are 9 in stock.","9","81"]');
  expect(status).toBe(3);
});

test.each([
  ['20.20.2', 2],
  ['22.15.1', 2],
  ['22.16.0', 0],
  ['23.11.1', 2],
  ['24.0.0', 0],
])('on Node %s it ends with %i, and writes nothing if that is unsupported', (node, code) => {
  const version = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${node}' } })`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(version)}`, main, 'a', '--no-install'],
    { cwd: folder, encoding: 'utf8' },
  );
  expect(status).toBe(code);
  expect(existsSync(path.join(folder, 'a'))).toBe(code === 0);
  if (code !== 0) expect(stderr).toContain(`requires Node.js 22.16 or later, but not 23, and this is ${node}.`);
});

test('the runtime that a project needs is that of the trainer', () => {
  const engines = (folder: string): unknown =>
    JSON.parse(readFileSync(path.resolve(import.meta.dirname, folder, 'package.json'), 'utf8')).engines;
  const { node } = JSON.parse(
    projectFiles({ name: 'a', framework: 'fetch', goal: 'rl' })['package.json'] ?? '',
  ).engines;
  expect(readFileSync(main, 'utf8')).toContain(`= [${node.match(/\d+/g).slice(0, 3).join(', ')}];`);
  expect([engines('..'), { node }]).toEqual([engines('../../../apps/trainer'), engines('../../../apps/trainer')]);
});

test.each(['ai', '@openai/agents', '@langchain/langgraph', '@mastra/core'])('zod is installed with %s', (name) => {
  const specs = frameworks.map((framework) => projectPackages({ name: 'a', framework, goal: 'rl' }).dependencies);
  expect(specs.find((list) => list.some((spec) => spec.startsWith(`${name}@`)))).toContain('zod@^4');
});

test('the README describes the tiny model only where it is trained, and names existing skills', () => {
  const readmes = goals.map((goal) => projectFiles({ name: 'a', framework: 'fetch', goal })['README.md'] ?? '');
  expect(readmes.map((text) => text.includes('tiny-reader'))).toEqual([true, true, false, true]);
  const skills = [...(readmes[0] ?? '').matchAll(/node_modules\/@agentlightning\/trainer\/([^)]*)/g)];
  expect(skills).toHaveLength(3);
  for (const [, skill = ''] of skills) {
    expect(existsSync(path.resolve(import.meta.dirname, '../../../apps/trainer', skill)), skill).toBe(true);
  }
});

test.each([
  [
    ['a', '--framework', 'autogen'],
    /Unknown --framework: autogen\. Use one of ai-sdk, openai-agents, langgraph, mastra, fetch\./,
  ],
  [['a', '--goal', 'fame'], /Unknown --goal: fame/],
  [['a', '--frameworks', 'fetch'], /Unknown option '--frameworks'[\s\S]*--help/],
  [['a', 'b'], /Too many folders: a b/],
])('%j is rejected, and nothing is written', (args, message) => {
  const { code, err } = create(...args);
  expect(code).toBe(2);
  expect(err).toMatch(message);
  expect(existsSync(path.join(folder, 'a'))).toBe(false);
});

test('a folder with files is left unchanged', () => {
  writeFileSync(path.join(folder, 'agent.ts'), 'mine');
  const { code, err } = create('.', '--no-install');
  expect(code).toBe(2);
  expect(err).toMatch(/Folder is not empty: .* has agent\.ts/);
  expect(readdirSync(folder)).toEqual(['agent.ts']);
});

test.each([
  ['pnpm/12.21.0 npm/? node/v24', 'pnpm', 'pnpm add --save-dev'],
  ['yarn/4.18.1 npm/?', 'yarn', 'yarn add --dev'],
  ['bun/1.4.5', 'bun', 'bun add --dev'],
  [undefined, 'npm', 'npm install --save-dev'],
])('%s installs with %s', (userAgent, name, command) => {
  const manager = packageManagerOf(userAgent);
  expect(manager).toBe(name);
  const commands = installCommands(manager, { dependencies: ['a'], devDependencies: ['b'] });
  expect(commands[1]?.join(' ')).toBe(`${command} b`);
});
