import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

/** Each test starts a process, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 });

const repository = path.resolve(import.meta.dirname, '../../..');

const program = path.join(import.meta.dirname, 'fixtures/run-user-module.ts');

let folder = '';
beforeEach(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'agl-user-')));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Outcome {
  readonly result?: unknown;
  readonly spans?: readonly string[];
  readonly stack?: string;
}

/** Writes a project and runs the agent that its `agent.ts` exports. */
async function run(files: Readonly<Record<string, string>>): Promise<Outcome> {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const args = ['--conditions=@agentlightning/source', program, path.join(folder, 'agent.ts')];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: tmpdir() });
  return JSON.parse(stdout) as Outcome;
}

function link(name: string, target: string): void {
  const file = path.join(folder, 'node_modules', name);
  mkdirSync(path.dirname(file), { recursive: true });
  symlinkSync(path.join(repository, target), file);
}

/** Uses all that type stripping alone cannot load. */
const ordinary = {
  'tsconfig.json': `{
    // Comments and trailing commas are allowed here.
    "extends": "./tsconfig.base.json",
    "compilerOptions": { "experimentalDecorators": true, "jsx": "react", "jsxFactory": "h" },
  }`,
  'tsconfig.base.json': '{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } } }',
  'src/extensionless.ts': "export const extensionless: string = 'extensionless';",
  'src/javascript.ts': "export const javascript: string = 'javascript';",
  'src/aliased.ts': "export const aliased: string = 'aliased';",
  'src/folder/index.ts': "export const inFolder: string = 'folder';",
  'src/data.json': '{ "value": "json" }',
  'src/view.tsx': `
    const h = (tag: string, _props: null, text: string) => tag + ':' + text;
    export const view: string = <b>jsx</b>;`,
  'agent.ts': `
    import { extensionless } from './src/extensionless';
    import { javascript } from './src/javascript.js';
    import { aliased } from '@/aliased';
    import { inFolder } from './src/folder';
    import data from './src/data.json';
    import { view } from './src/view';
    enum Kind { Enum = 'enum' }
    function upperCase(_target: object, _name: string, descriptor: PropertyDescriptor) {
      const { value } = descriptor;
      return { ...descriptor, value() { return value.call(this).toUpperCase(); } };
    }
    class Tool {
      constructor(private readonly text: string) {}
      @upperCase run() { return this.text; }
    }
    const settled = await Promise.resolve('await');
    export const agent = async () =>
      [extensionless, javascript, aliased, inFolder, data.value, view, Kind.Enum, new Tool('decorator').run(), settled];`,
};

test.each([
  ['an ES module package', { type: 'module' }],
  ['a package without "type"', {}],
  ['a CommonJS package', { type: 'commonjs' }],
])('ordinary TypeScript loads in %s', async (_, manifest) => {
  const { result } = await run({ ...ordinary, 'package.json': JSON.stringify(manifest) });
  expect(result).toEqual('extensionless javascript aliased folder json b:jsx enum DECORATOR await'.split(' '));
});

test('the globals of CommonJS are there in a package without "type"', async () => {
  const { result } = await run({
    'package.json': '{}',
    'src/plain.cjs': "module.exports = { plain: 'plain' };",
    'src/place.ts': `
      import path from 'node:path';
      export const place = [path.basename(__filename), path.basename(__dirname), require('./plain.cjs').plain];`,
    'agent.ts': "import { place } from './src/place'; export const agent = async () => place;",
  });
  expect(result).toEqual(['place.ts', 'src', 'plain']);
});

test.each(["import 'server-only';", "require('server-only');"])('a module with %s is loaded', async (line) => {
  const { result } = await run({
    'package.json': '{}',
    'node_modules/server-only/package.json': '{ "name": "server-only", "main": "index.js" }',
    'node_modules/server-only/index.js':
      "throw new Error('This module cannot be imported from a Client Component module.');",
    'src/answer.cjs': `${line.startsWith('require') ? line : ''}\nmodule.exports = { answer: 'server' };`,
    'agent.ts': `
      ${line.startsWith('import') ? line : ''}
      import legacy from './src/answer.cjs';
      export const agent = async () => legacy.answer;`,
  });
  expect(result).toBe('server');
});

test('the stack of an error has the lines of the source', async () => {
  const { stack } = await run({
    'package.json': '{}',
    'src/tool.ts': [
      'interface Options { readonly name: string }',
      'enum Mode { Strict }',
      '',
      'export function tool({ name }: Options, mode = Mode.Strict): never {',
      '  const folder = __dirname;',
      '  throw new Error([name, mode, folder.length > 0].join());',
      '}',
    ].join('\n'),
    'agent.ts': "import { tool } from './src/tool';\nexport const agent = async () => tool({ name: 'hammer' });",
  });
  expect(stack).toContain('hammer,0,true');
  expect(stack).toContain(`${path.join(folder, 'src/tool.ts')}:6:9`);
  expect(stack).toContain(`${path.join(folder, 'agent.ts')}:2:34`);
});

test.each([[{ type: 'module' }], [{}]])(
  'an adapter and the agent share the framework and the rollout: %j',
  async (manifest) => {
    link('@agentlightning/core', 'packages/core');
    link('@agentlightning/langchain', 'packages/langchain');
    link('@langchain/core', 'packages/langchain/node_modules/@langchain/core');
    const { result, spans } = await run({
      'package.json': JSON.stringify(manifest),
      'agent.ts': `
      import { currentRollout } from '@agentlightning/core';
      import { instrumentLangChain } from '@agentlightning/langchain';
      import { RunnableLambda } from '@langchain/core/runnables';
      instrumentLangChain();
      const chain = RunnableLambda.from((text: string) => text + '!').withConfig({ runName: 'exclaim' });
      export const agent = async () => [await chain.invoke('hi'), currentRollout() !== null, typeof __dirname];`,
    });
    expect(result).toEqual(['hi!', true, 'type' in manifest ? 'undefined' : 'string']);
    expect(spans).toContain('exclaim');
  },
);
